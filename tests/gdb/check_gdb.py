#!/usr/bin/env python3
"""Runs tools/gdb/bulkhead.py in gdb, on a program with actors in every state.

    tests/gdb/check_gdb.py PROGRAM [UNITTEST ARGUMENT...]

PROGRAM is built from actors_to_debug.cpp, with debugging information.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gdb" / "bulkhead.py"
PROGRAM = pathlib.Path()
TIMEOUT_S = 100


def gdb(*arguments, commands=(), script=SCRIPT):
    """What gdb says, on both streams."""
    if shutil.which("gdb") is None:
        raise AssertionError("gdb was not found: install it (Debian: gdb), or run ./dev setup test")
    sourced = [] if script is None else ["-ex", f"source {script}"]
    done = subprocess.run(
        ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", *sourced,
         *(part for command in commands for part in ("-ex", command)), *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=TIMEOUT_S, check=False)
    return done.stdout


class Actors(unittest.TestCase):
    """What is shown of the program's actors, wherever it comes from."""

    def check_table(self, text):
        def row(pid):
            found = re.search(rf"^<{pid}>.*$", text, re.MULTILINE)
            self.assertIsNotNone(found, text)
            return found[0]

        self.assertRegex(row("1.1"), r"blocked +1 +0 +Sleeper +this_actor::sleep_for, from "
                                     r"sleep_deeply at actors_to_debug.cpp:\d+$")
        self.assertRegex(row("2.1"), r"idle +0 +0 +Holder$")
        self.assertRegex(row("3.1"), r"blocked +0 +3 +Blocker +Address::ask, from "
                                     r"Blocker::receive at actors_to_debug.cpp:\d+$")
        self.assertRegex(row("4.1"), r"running +0 +0 +.*lambda")
        self.assertNotRegex(text, r"(?m)^<0\.")
        self.assertIn("4 actors: 1 idle, 1 running, 2 blocked", text)

    def check_sleeper(self, text):
        """Its frames from the switch to the trampoline, without those of the thread."""
        frames = [(int(number), name) for number, name in re.findall(
            r"(?m)^#(\d+) +(?:0x[0-9a-f]+ in )?([\w:]+)", text)]
        names = [name for _, name in frames]
        self.assertEqual([number for number, _ in frames], list(range(len(frames))), text)
        self.assertEqual(names[0], "bulkhead::machine::leave", text)
        self.assertEqual(names.count("sleep_deeply"), 4, text)
        self.assertIn("bulkhead::this_actor::sleep_for", names)
        self.assertEqual(names[-1], "bulkhead_trampoline_frame", text)

    def check_all(self, text):
        parts = re.split(r"(?m)^=== .*$", text)
        self.assertEqual(len(parts), 4, text)
        self.check_table(parts[1])
        self.assertIn("actor <1.1>, Sleeper: blocked, on core 1, 0 in its queue", parts[2])
        self.check_sleeper(parts[2])
        self.assertRegex(parts[3], r"Blocker::receive")
        self.assertNotIn("sleep_deeply", parts[3])

    SHOW = ("echo === actors\\n", "bulkhead actors", "echo === sleeper\\n", "bulkhead bt <1.1>",
            "echo === blocker\\n", "bulkhead bt 3.1")


class Live(Actors):
    def at_the_breakpoint(self, *commands):
        return gdb(PROGRAM, commands=("break stop_here", "run", *commands))

    def test_actors_and_backtraces(self):
        self.check_all(self.at_the_breakpoint(*self.SHOW))

    def test_a_running_actor_is_shown_on_its_thread_whichever_is_selected(self):
        text = self.at_the_breakpoint("thread 1", "bulkhead bt 4", "echo === now\\n", "thread")
        shown, selected = text.split("=== now")
        self.assertRegex(shown, r"It runs on thread \d+ \(bulkhead-0\)")
        self.assertRegex(shown, r"(?m)^#0 .*stop_here")
        self.assertIn("Current thread is 1 ", selected)

    def test_an_idle_actor_has_no_stack(self):
        text = self.at_the_breakpoint("bulkhead bt 2.1")
        self.assertIn("actor <2.1>, Holder: idle, on core 0, 0 in its queue", text)
        self.assertIn("has no stack", text)

    def test_variables_can_be_shown(self):
        self.assertRegex(self.at_the_breakpoint("bulkhead bt 1 full"), r"seen = 3")

    def test_the_list_can_be_cut(self):
        text = self.at_the_breakpoint("bulkhead actors 1")
        self.assertRegex(text, r"(?m)^<1\.1>")
        self.assertNotRegex(text, r"(?m)^<2\.1>")
        self.assertIn("3 not shown", text)

    def test_wrong_pids_are_named(self):
        for pid, error in (
                ("<0.1>", "bulkhead: actor <0.1> has ended"),
                ("1.7", "bulkhead: there is no actor <1.7>, and never was one"),
                ("123456", "bulkhead: there is no actor <123456>, and never was one"),
                ("0", "bulkhead: there is no live actor <0>"),
                ("main", "bulkhead: 'main' is no pid: write <3.1>, 3.1 or 3"),
                ("", "bulkhead: bt wants a pid")):
            self.assertIn(error, self.at_the_breakpoint(f"bulkhead bt {pid}"))

    def test_the_program_goes_on_unharmed(self):
        text = self.at_the_breakpoint(*self.SHOW, "echo === then\\n", "bt 1", "continue")
        after = text.split("=== then")[1]
        self.assertRegex(after, r"#0 .*stop_here")
        self.assertIn("exited normally", after)


class Core(Actors):
    def test_a_core_file_of_an_abort_in_an_actor(self):
        with tempfile.TemporaryDirectory() as folder:
            core = pathlib.Path(folder) / "core"
            written = gdb(PROGRAM, commands=("run abort", f"bulkhead gcore {core}"))
            self.assertIn("SIGABRT", written)
            self.assertRegex(written, r"core: [45] stacks of actors and cores are in it")
            self.assertLess(core.stat().st_size, 500 << 20)
            text = gdb(PROGRAM, core, commands=(*self.SHOW,))
            self.check_all(text)
            text = gdb(PROGRAM, core, commands=("bulkhead bt 4",))
            self.assertRegex(text, r"It runs on thread \d+")
            self.assertRegex(text, r"(?m)^#\d+ .*abort")
            self.assertRegex(text, r"(?m)^#\d+ .*bulkhead::core::Core::deliver_batch")


class Trouble(unittest.TestCase):
    def test_without_a_process(self):
        for command in ("bulkhead actors", "bulkhead bt 1", "bulkhead gcore x"):
            self.assertIn("bulkhead: there is no process", gdb(PROGRAM, commands=(command,)))

    def test_without_debugging_information(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "stripped"
            subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
            for command in ("bulkhead actors", "bulkhead bt 1"):
                text = gdb(stripped, commands=("break _Exit", "run", command))
                self.assertIn("there is no debugging information of the runtime here", text)

    def test_a_number_that_is_none(self):
        text = gdb(PROGRAM, commands=("break main", "run", "bulkhead actors -3"))
        self.assertIn("bulkhead: '-3' is no number of actors", text)

    def test_before_the_runtime_is_started(self):
        text = gdb(PROGRAM, commands=("break main", "run", "bulkhead actors", "bulkhead bt 0"))
        self.assertIn("0 actors", text)
        self.assertIn("there is no actor <0>, and never was one", text)


class AutoLoad(unittest.TestCase):
    def test_a_link_beside_the_program_is_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "program"
            shutil.copy(PROGRAM, program)
            (pathlib.Path(folder) / "program-gdb.py").symlink_to(SCRIPT)
            done = gdb("-iex", f"add-auto-load-safe-path {folder}", "-iex",
                       f"add-auto-load-safe-path {SCRIPT.parent}", program,
                       commands=("help bulkhead",), script=None)
            self.assertIn("bulkhead actors [MOST]", done)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
