"""What the numbers were measured on."""

import datetime
import os
import pathlib
import platform
import re
import subprocess


def first_line_of(command: list[str]) -> str:
    """The first line that a command prints, or why there is none."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"unknown ({error})"
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else "unknown"


def allowed_cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def cached(build: pathlib.Path, name: str) -> str:
    """A variable of the build's CMake cache, or nothing."""
    try:
        text = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^{re.escape(name)}:\w+=(.*)$", text, re.MULTILINE)
    return found.group(1) if found else ""


def compiler(build: pathlib.Path) -> str:
    return cached(build, "CMAKE_CXX_COMPILER") or os.environ.get("CXX", "c++")


def cpu_model() -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def hypervisor() -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return "yes" if re.search(r"^flags\s*:.*\bhypervisor\b", text, re.MULTILINE) else "no"


def describe(build: pathlib.Path, root: pathlib.Path, versions: dict[str, str]) -> dict[str, str]:
    commit = first_line_of(["git", "-C", str(root), "--no-optional-locks", "describe",
                             "--always", "--dirty"])
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "CPU": cpu_model(),
        "CPUs used": f"{len(allowed_cpus())} of {os.cpu_count()}",
        "virtual machine": hypervisor(),
        "memory": f"{memory_gib():.0f} GiB",
        "load at the start": f"{os.getloadavg()[0]:.2f}",
        "system": f"{os_name()}, kernel {platform.release()}",
        "C library": " ".join(platform.libc_ver()),
        "compiler": first_line_of([compiler(build), "--version"]),
        "build type": cached(build, "CMAKE_BUILD_TYPE") or "unknown",
        "Bulkhead": commit,
        **versions,
    }


def os_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()
