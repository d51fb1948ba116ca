#!/usr/bin/env python3
"""Checks that each public header compiles alone, without a warning.

    tools/check_headers.py [--max-lines N] FOLDER -- COMPILER [OPTION...]

With --max-lines, a header that brings more than N lines (blank ones not counted) into a program
is a fault too.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

STRICT = ["-Wall", "-Wextra", "-Werror"]


def weight(header, command):
    """How many lines of code a program has that includes only this header."""
    result = subprocess.run([*command, "-E", "-P", "-x", "c++", str(header)],
                            capture_output=True, text=True, check=False)
    return sum(1 for line in result.stdout.splitlines() if line.strip())


def check(header, command, max_lines):
    """Returns what is wrong with a header, or nothing."""
    source = f'#include "{header}"\n#include "{header}"\n'
    result = subprocess.run([*command, *STRICT, "-fsyntax-only", "-x", "c++", "-"], input=source,
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"{header}: does not compile alone\n{result.stderr}"
    if max_lines:
        lines = weight(header, command)
        if lines > max_lines:
            return f"{header}: brings {lines} lines, {max_lines} allowed"
    return None


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--max-lines", type=int, default=0)
    options = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1:]
    if not command:
        parser.error("name the compiler after --")

    headers = sorted(options.folder.resolve().rglob("*.hpp"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for fault in
                  pool.map(lambda header: check(header, command, options.max_lines), headers)
                  if fault]
    for fault in faults:
        print(fault)
    print(f"{len(headers)} headers, {len(faults)} at fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
