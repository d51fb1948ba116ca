#!/usr/bin/env python3
"""Runs a program, which must end with status 0, and compares its standard output.

    tools/expect_output.py [--expected FILE] -- PROGRAM [ARGUMENT...]

With --expected, the output must be the same as the file, byte for byte.
"""

import argparse
import difflib
import pathlib
import subprocess
import sys


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--expected", type=pathlib.Path)
    options = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1:]
    if not command:
        parser.error("name the program after --")

    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.stdout.write(result.stdout.decode(errors="replace"))
        print(f"{command[-1]} ended with status {result.returncode}")
        return 1
    if options.expected:
        expected = options.expected.read_bytes()
        if result.stdout != expected:
            difference = difflib.unified_diff(
                expected.decode(errors="replace").splitlines(),
                result.stdout.decode(errors="replace").splitlines(),
                str(options.expected), "output", lineterm="")
            print("\n".join(difference) or "the outputs differ in line ends or in invisible bytes")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
