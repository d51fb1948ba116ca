#!/usr/bin/env python3
"""Compiles a file that shows wrong use, and checks what the compiler says about it.

    tools/compile_fail.py FILE -- COMPILER [OPTION...]

FILE holds one or more lines `// expect: REGEX`: compiling it must fail, and each regex must be
found in the messages. Or it holds a line `// expect-ok`: then it must compile, without a warning.
"""

import re
import subprocess
import sys

EXPECT = re.compile(r"^\s*//\s*expect:\s*(.+?)\s*$", re.MULTILINE)
EXPECT_OK = re.compile(r"^\s*//\s*expect-ok\s*$", re.MULTILINE)


def check(path, command):
    """Returns the complaints about one file, and the compiler's messages."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expected = EXPECT.findall(text)
    must_compile = EXPECT_OK.search(text) is not None
    if must_compile == bool(expected):
        return [f"{path}: needs either `// expect: REGEX` lines or one `// expect-ok`"], ""

    result = subprocess.run([*command, "-fsyntax-only", path], capture_output=True, text=True,
                            check=False)
    messages = result.stderr + result.stdout
    if must_compile:
        if result.returncode != 0:
            return [f"{path}: must compile, but does not"], messages
        return ([f"{path}: compiles, but with warnings"] if messages else []), messages
    if result.returncode == 0:
        return [f"{path}: must not compile, but does"], messages
    return [f"{path}: no message matches /{pattern}/" for pattern in expected
            if not re.search(pattern, messages)], messages


def main(arguments):
    if len(arguments) < 3 or arguments[1] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    complaints, messages = check(arguments[0], arguments[2:])
    if not complaints:
        return 0
    print("\n".join(complaints))
    print("--- the compiler said:")
    print(messages)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
