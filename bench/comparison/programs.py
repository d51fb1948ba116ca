"""The programs that are compared: where they are, how they are built, what they can do."""

import dataclasses
import pathlib
import re
import subprocess
import sys

from comparison import machine

BULKHEAD = "bulkhead"
EPOLL = "epoll"

TITLES = {
    BULKHEAD: "Bulkhead",
    EPOLL: "bare epoll",
    "erlang": "Erlang",
    "erlang_active": "Erlang, active",
    "erlang_passive": "Erlang, passive",
    "go": "Go",
    "caf": "CAF",
    "boost_fiber": "Boost.Fiber",
    "std_thread": "std::thread",
}

# Peer: the target that builds it.
PEERS = {
    "erlang": "erlang_programs",
    "go": "go_programs",
    "caf": "peer_caf",
    "boost_fiber": "peer_boost_fiber",
    "std_thread": "peer_std_thread",
}
# Echo server: the peer it belongs to.
ECHO_PEERS = {"erlang_active": "erlang", "erlang_passive": "erlang", "go": "go"}
COMPILE_PEERS = ("caf", "boost_fiber", "std_thread")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Programs:
    """Who takes part. A program that is missing has its reason in `missing`."""

    root: pathlib.Path   # Of the source tree.
    build: pathlib.Path
    benches: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    abilities: dict[str, set[str]] = dataclasses.field(default_factory=dict)
    servers: dict[str, pathlib.Path] = dataclasses.field(default_factory=dict)
    echo_load: pathlib.Path | None = None
    compiled: list[str] = dataclasses.field(default_factory=list)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def peers_build(self) -> pathlib.Path:
        return self.build / "bench-peers"

    def leave_out(self, name: str, why: str) -> None:
        self.missing[name] = why
        say(f"missing: {TITLES.get(name, name)}: {why}")

    def find(self, with_peers: bool, with_echo: bool) -> None:
        self._add_bench(BULKHEAD, self.build / "bench" / "bulkhead_bench")
        self.compiled = [BULKHEAD]
        if with_peers:
            self._find_peers()
        if with_echo:
            self._find_echo(with_peers)

    def _add_bench(self, name: str, path: pathlib.Path) -> None:
        if not path.is_file():
            self.leave_out(name, f"{path} does not exist")
            return
        try:
            listed = subprocess.run([path, "--list"], stdin=subprocess.DEVNULL, text=True,
                                    stdout=subprocess.PIPE, timeout=60, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            self.leave_out(name, f"it cannot say what it measures: {error}")
            return
        self.benches[name] = path
        self.abilities[name] = set(listed.stdout.split())
        if name != BULKHEAD:
            self.versions[TITLES[name]] = machine.first_line_of([str(path), "--version"])

    def _find_peers(self) -> None:
        absent = self._configure_peers()
        for name, target in PEERS.items():
            if name in absent:
                self.leave_out(name, absent[name])
            elif self._build_target(name, target):
                self._add_bench(name, self.peers_build / f"peer_{name}")
        self.compiled += [name for name in COMPILE_PEERS if name in self.benches]

    def _configure_peers(self) -> dict[str, str]:
        say("building the peers")
        command = ["cmake", "-S", self.root / "bench" / "peers", "-B", self.peers_build,
                   "-DCMAKE_BUILD_TYPE=Release",
                   f"-DCMAKE_CXX_COMPILER={machine.compiler(self.build)}"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
        except OSError as error:
            return {name: f"CMake cannot be run: {error}" for name in PEERS}
        if done.returncode != 0:
            say(done.stdout)
            return {name: "CMake failed (see above)" for name in PEERS}
        return dict(re.findall(r"peer (\w+) is left out: (.*)", done.stdout))

    def _build_target(self, name: str, target: str) -> bool:
        done = subprocess.run(["cmake", "--build", self.peers_build, "--target", target],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            say("\n".join(done.stdout.splitlines()[-30:]))
            self.leave_out(name, "its build failed (see above)")
        return done.returncode == 0

    def _find_echo(self, with_peers: bool) -> None:
        if with_peers and self.peers_build.is_dir():
            for target in ("epoll_server", "echo_load"):
                if not (self.build / "bench" / target).is_file():
                    self._build_target(target, target)
        self._add_server(BULKHEAD, self.build / "bench" / "bulkhead_echo")
        self._add_server(EPOLL, self._tool("epoll_server"))
        self.echo_load = self._tool("echo_load")
        if not self.echo_load.is_file():
            self.leave_out("echo_load", f"{self.echo_load} does not exist: no echo measurements")
            self.echo_load = None
        for server, peer in ECHO_PEERS.items():
            if peer in self.benches:
                self._add_server(server, self.peers_build / f"echo_{server}")

    def _tool(self, name: str) -> pathlib.Path:
        own = self.build / "bench" / name
        with_the_peers = self.peers_build / "echo" / name
        return with_the_peers if not own.is_file() and with_the_peers.is_file() else own

    def _add_server(self, name: str, path: pathlib.Path) -> None:
        if path.is_file():
            self.servers[name] = path
        else:
            self.leave_out(f"echo server {TITLES[name]}", f"{path} does not exist")
