"""The works to be measured, as bench/goals.json lists them."""

import dataclasses
import json
import pathlib

KINDS = ("program", "idle_cpu", "compile", "echo")


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: one metric of a work."""

    label: str
    metric: str = "ns_per_op"
    unit: str = "ns"
    better: str = "lower"
    goal: float | None = None
    goal_of_epoll: float | None = None  # The goal is this many times what bare epoll reaches.


@dataclasses.dataclass(frozen=True)
class Work:
    """What is run: its measurements fill one row or several."""

    bench: str
    rows: tuple[Row, ...]
    kind: str = "program"
    n: int = 0
    cores: int = 1
    n_for: dict = dataclasses.field(default_factory=dict)  # Programs that do less, and how much.
    connections: int = 0
    idle_seconds: float = 5

    @property
    def name(self) -> str:
        if self.kind == "echo":
            return f"{self.bench}, {self.connections} connections"
        if self.kind == "compile":
            return self.bench
        return f"{self.bench} {self.n} on {self.cores} core{'s' if self.cores > 1 else ''}"

    def n_of(self, program: str) -> int:
        return self.n_for.get(program, self.n)

    def made_quick(self) -> "Work":
        """A tenth of the work, for a first look."""
        if self.kind == "program":
            return dataclasses.replace(
                self, n=max(1, self.n // 10),
                n_for={name: max(1, n // 10) for name, n in self.n_for.items()})
        return dataclasses.replace(self, idle_seconds=1)


def load(path: pathlib.Path) -> list[Work]:
    works = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["works"]:
        rows = tuple(Row(**row) for row in entry.pop("rows"))
        work = Work(rows=rows, **entry)
        if work.kind not in KINDS:
            raise ValueError(f"{path}: {work.bench}: there is no kind '{work.kind}'")
        works.append(work)
    return works
