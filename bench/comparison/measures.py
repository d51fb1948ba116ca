"""One measurement of one program: a dictionary of metrics, or a Failure that says why not."""

import collections
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time

from comparison import machine
from comparison.programs import BULKHEAD, Programs
from comparison.works import Work

TIMEOUT_S = 300
START_S = 20
SETTLE_S = 1


class Failure(Exception):
    """A measurement that could not be made; the text is for people."""


def pinned(cores: int, command: list) -> list[str]:
    """The command on so many CPUs: the last ones, since the first gets most interrupts."""
    cpus = machine.allowed_cpus()[-cores:]
    return ["taskset", "-c", ",".join(map(str, cpus)), *map(str, command)]


def tail(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def flat(result: dict) -> dict:
    """The result with what stands in `extra` beside the rest."""
    metrics = {key: value for key, value in result.items() if key != "extra"}
    metrics.update(result.get("extra") or {})
    return metrics


def parse(bench: str, output: str) -> dict:
    lines = output.strip().splitlines()
    if len(lines) != 1:
        raise Failure(f"it printed {len(lines)} lines instead of one")
    try:
        result = json.loads(lines[0])
    except json.JSONDecodeError as error:
        raise Failure(f"its line is not JSON: {error}") from error
    if result.get("ok") is not True or result.get("bench", bench) != bench:
        raise Failure(f"its result is not one: {lines[0]}")
    return flat(result)


def measure(programs: Programs, work: Work, name: str, quick: bool) -> dict:
    if work.kind == "echo":
        return _echo(programs, work, name, quick)
    if work.kind == "compile":
        return _compile(programs, work, name)
    command = pinned(work.cores, [programs.benches[name], work.bench, work.n_of(name), work.cores])
    if work.kind == "idle_cpu":
        return _idle_cpu(work, command)
    return _program(work, command)


def _program(work: Work, command: list[str]) -> dict:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"it did not end within {TIMEOUT_S} s") from error
    except OSError as error:
        raise Failure(str(error)) from error
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {tail(done.stderr)}")
    return parse(work.bench, done.stdout)


class Lines:
    """Reads a stream line by line on a thread of its own, and can wait for a line."""

    def __init__(self, stream):
        self._stream = stream
        self._text = collections.deque(maxlen=50)
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._stream:
            with self._changed:
                self._text.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, word: str, seconds: float) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._ended or any(word in line for line in self._text), seconds)
            return any(word in line for line in self._text)

    def tail(self) -> str:
        with self._changed:
            return tail("".join(self._text))


def end(process: subprocess.Popen) -> None:
    """Ends a process of ours, kindly first."""
    process.terminate()
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# --- idle_cpu: the process waits for the end of its input; its threads are watched from outside ---

def _switches(pid: int) -> dict[str, int]:
    counts = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            text = (task / "status").read_text(encoding="utf-8")
        except OSError:  # The thread has ended.
            continue
        for line in text.splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                counts[task.name] = int(line.split()[1])
    return counts


def _cpu_seconds(pid: int) -> float:
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = text.rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _idle_cpu(work: Work, command: list[str]) -> dict:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        errors = Lines(process.stderr)
        if not errors.wait_for("ready", START_S):
            raise Failure(f"it did not become idle: {errors.tail()}")
        time.sleep(SETTLE_S)
        switches, cpu, began = _switches(process.pid), _cpu_seconds(process.pid), time.monotonic()
        time.sleep(work.idle_seconds)
        seconds = time.monotonic() - began
        later = _switches(process.pid)
        wakeups = sum(count - switches.get(task, 0) for task, count in later.items())
        busy = _cpu_seconds(process.pid) - cpu
        process.stdin.close()
        output = process.stdout.read()
        if process.wait(TIMEOUT_S) != 0:
            raise Failure(f"exit status {process.returncode}: {errors.tail()}")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from error
    finally:
        end(process)
    return {**parse(work.bench, output), "threads": len(later),
            "wakeups_per_s": wakeups / seconds, "cpu_ms_per_s": 1000 * busy / seconds}


# --- compile: what the two-actor program costs the compiler ---

def _compile(programs: Programs, work: Work, name: str) -> dict:
    source = programs.root / "bench" / "compile" / f"{name}.cpp"
    if not source.is_file():
        raise Failure(f"{source.relative_to(programs.root)} does not exist")
    own = ["-I", programs.root / "include"] if name == BULKHEAD else []
    with tempfile.TemporaryDirectory() as folder:
        command = pinned(work.cores, [machine.compiler(programs.build), "-std=c++23", "-O2", *own,
                                      "-c", source, "-o", pathlib.Path(folder) / "out.o"])
        began = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failure(f"it does not compile: {tail(errors)}")
    return {"seconds": seconds, "peak_mb": usage.ru_maxrss / 1024}


# --- echo: a server, and the load that is put on it ---

def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _echo(programs: Programs, work: Work, name: str, quick: bool) -> dict:
    port = free_port()
    server = subprocess.Popen(
        pinned(work.cores, [programs.servers[name], "--port", port]), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = Lines(server.stdout)
        if not lines.wait_for("listening", START_S):
            raise Failure(f"it does not listen: {lines.tail()}")
        load = pinned(work.cores, [
            programs.echo_load, "--port", port, "--connections", work.connections, "--json",
            "--warmup", 0.3 if quick else 1, "--duration", 1 if quick else 3])
        done = subprocess.run(load, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise Failure(f"the load failed: {tail(done.stderr)}")
        return parse(work.bench, done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from error
    finally:
        end(server)
