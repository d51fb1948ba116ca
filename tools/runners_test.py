#!/usr/bin/env python3
"""Shows that the scripts which run checks tell right from wrong."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = next(filter(shutil.which, ("c++", "g++", "clang++")), "c++")


class RunnerTest(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        return str(file)

    def run_script(self, status, expected, script, *arguments):
        """The script ends with this status, and says what is expected."""
        result = subprocess.run([sys.executable, str(HERE / script), *arguments],
                                capture_output=True, text=True, check=False)
        output = result.stdout + result.stderr
        self.assertEqual(result.returncode, status, output)
        self.assertIn(expected, output)


class CompileFailTest(RunnerTest):
    def check(self, status, expected, text):
        file = self.write("a.cpp", text)
        self.run_script(status, expected, "compile_fail.py", file, "--", COMPILER, "-Wall")

    def test_the_expected_message_is_enough(self):
        self.check(0, "", '// expect: too (bad|good)\nstatic_assert(false, "too bad");\n')

    def test_every_expected_message_must_come(self):
        self.check(1, "no message matches /nice/",
                   '// expect: bad\n// expect: nice\nstatic_assert(false, "bad");\n')

    def test_a_file_that_compiles_is_a_fault(self):
        self.check(1, "must not compile, but does", "// expect: bad\nint a;\n")

    def test_what_is_wrong_in_a_used_template_is_found(self):
        self.check(0, "", "// expect: no ints\ntemplate <class T> struct X {\n"
                          ' void f() { static_assert(sizeof(T) > 4, "no ints"); }\n};\n'
                          "void g() { X<int>{}.f(); }\n")

    def test_expect_ok_wants_a_file_that_compiles(self):
        self.check(0, "", "// expect-ok\nint a;\n")
        self.check(1, "must compile, but does not", "// expect-ok\nint a\n")
        self.check(1, "with warnings", "// expect-ok\nint f() {}\n")

    def test_a_file_without_expectation_is_a_fault(self):
        self.check(1, "needs either", "int a;\n")
        self.check(1, "needs either", "// expect-ok\n// expect: a\nint a\n")

    def test_without_a_compiler_it_explains_itself(self):
        self.run_script(2, "compile_fail.py FILE", "compile_fail.py", "a.cpp")


class HeadersTest(RunnerTest):
    def check(self, status, expected, *options):
        self.run_script(status, expected, "check_headers.py", *options, str(self.folder), "--",
                        COMPILER)

    def test_headers_that_compile_alone_are_accepted(self):
        self.write("a.hpp", "#pragma once\nstruct A {};\n")
        self.check(0, "1 headers, 0 at fault")

    def test_a_header_that_needs_another_is_a_fault(self):
        self.write("a.hpp", "#pragma once\ninline std::string a;\n")
        self.check(1, "a.hpp: does not compile alone")

    def test_a_header_that_cannot_come_twice_is_a_fault(self):
        self.write("a.hpp", "struct A {};\n")
        self.check(1, "a.hpp: does not compile alone")

    def test_a_header_that_warns_is_a_fault(self):
        self.write("a.hpp", "#pragma once\ninline int f(int a) { return 1; }\n")
        self.check(1, "unused parameter")

    def test_a_heavy_header_is_a_fault(self):
        self.write("a.hpp", "#pragma once\nint a;\nint b;\n")
        self.check(0, "0 at fault", "--max-lines", "2")
        self.write("b.hpp", "#pragma once\nint a;\nint b;\nint c;\n")
        self.check(1, "b.hpp: brings 3 lines, 2 allowed", "--max-lines", "2")


class OutputTest(RunnerTest):
    def check(self, status, expected, *arguments):
        self.run_script(status, expected, "expect_output.py", *arguments)

    def test_the_same_output_is_accepted(self):
        file = self.write("a.expected", "one\ntwo\n")
        self.check(0, "", "--expected", file, "--", "printf", "one\ntwo\n")

    def test_another_output_is_a_fault(self):
        file = self.write("a.expected", "one\ntwo\n")
        self.check(1, "-two\n+three", "--expected", file, "--", "printf", "one\nthree\n")
        self.check(1, "invisible", "--expected", file, "--", "printf", "one\ntwo")

    def test_a_program_that_fails_is_a_fault(self):
        self.check(0, "", "--", "true")
        self.check(1, "ended with status 1", "--", "false")


class DevTest(unittest.TestCase):
    def check(self, status, expected, *arguments):
        result = subprocess.run([str(HERE.parent / "dev"), *arguments],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertIn(expected, result.stdout if status == 0 else result.stderr)

    def test_help_names_the_commands(self):
        for command in ("run", "test", "bench", "check", "docs", "format", "setup", "clean"):
            self.check(0, f"./dev {command}", "help")

    def test_a_wrong_command_or_option_is_an_error_of_usage(self):
        self.check(2, "unknown command: tset", "tset")
        self.check(2, "no command", )
        for arguments in (("test", "--fast"), ("run", "--fast"), ("docs", "x"), ("clean", "all"),
                          ("test", "--preset"), ("test", "--preset", "nightly"), ("setup", "moon"),
                          ("check", "moon"), ("format", "--yes-please")):
            self.check(2, "Usage: ./dev", *arguments)


if __name__ == "__main__":
    unittest.main()
