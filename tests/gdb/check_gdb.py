#!/usr/bin/env python3
"""Runs tools/gdb/bulkhead.py in gdb, on a program with actors in every state.

    tests/gdb/check_gdb.py PROGRAM OPTIMISED [UNITTEST ARGUMENT...]

Both are built from actors_to_debug.cpp, with debugging information; OPTIMISED with -O2, so that
little of what was written is a function of its own. The same must be shown of both.
"""

import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gdb" / "bulkhead.py"
PROGRAM = pathlib.Path()
OPTIMISED = pathlib.Path()
TIMEOUT_S = 100
# The lines that are marked in the program, by the names that they are marked with.
CALLS = {match[1]: number for number, line in enumerate(
    pathlib.Path(__file__).with_name("actors_to_debug.cpp").read_text(encoding="utf-8")
    .splitlines(), 1) if (match := re.search(r"// calls: (\w+)$", line))}


def gdb(*arguments, commands=(), script=SCRIPT):
    """What gdb says, on both streams."""
    if shutil.which("gdb") is None:
        raise AssertionError("gdb was not found: install it (Debian: gdb), or run ./dev setup test")
    sourced = [] if script is None else ["-ex", f"source {script}"]
    try:
        done = subprocess.run(
            ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", *sourced,
             *(part for command in commands for part in ("-ex", command)), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        said = (error.output or b"").decode(errors="replace")
        raise AssertionError(f"gdb hung for {TIMEOUT_S} s, after this:\n{said}") from None
    return done.stdout


class Actors(unittest.TestCase):
    """What is shown of the program's actors, wherever it comes from."""

    # Class: pid, state, core, queue; what it is blocked in. (Those who are stuck may have moved
    # before; which slots Errand and those after it have is their core's business.)
    ROWS = {
        "Sleeper": ("<1.1> blocked 1 0", "this_actor::sleep_for, from sleep_deeply"),
        "Holder": ("<2.1> idle 0 0", None),
        "Blocker": ("<3.1> blocked 0 3", "Address::ask, from Blocker::receive"),
        "Next": ("<4.1> idle 1 0", None),
        "Reader": ("<5.1> stuck * 0", "read, from wait_for_a_byte"),
        "Looper": ("<6.1> stuck * 0", "Looper::operator()"),
        "Taker": ("<7.1> blocked 0 0", "Receiver::recv, from a lambda in Taker::operator()"),
        "Locker": ("<8.1> blocked 0 0", "Mutex::lock_for, from a lambda in Locker::operator()"),
        "Owner": ("<10.1> blocked 1 0", "CancellationScope::wait, from Owner::operator()"),
        "Napper": ("<*.1> blocked 0 0", "this_actor::sleep_for, from Napper::operator()"),
        "Opener": ("<*.1> blocked 0 0", "io::File::read, from Opener::operator()"),
        "Accepter": ("<*.1> blocked 0 0", "net::Listener::accept, from Accepter::operator()"),
        "Leaver": ("<*.1> blocked 1 0",
                   "CancellationScope::~CancellationScope, from Leaver::operator()"),
        "Mailbox<int>": ("<*.1> idle 0 0", "Mailbox::next, from Nexter::operator()"),
        "Errand": ("<*.1> blocked 1 0", "this_actor::sleep_for, from Errand::operator()"),
    }
    # Where a blocked actor goes on. It is inlined, and Clang gives its end to the caller.
    SWITCHED = ("bulkhead::machine::leave", "bulkhead::core::Core::park_on")
    RUNNING = "9"
    COUNTS = "17 actors: 3 idle, 1 running, 11 blocked, 2 stuck"

    @staticmethod
    def program():
        return PROGRAM

    def check_table(self, text):
        lines = text.splitlines()
        for name, (state, place) in self.ROWS.items():
            row = " +".join(map(re.escape, state.split())).replace(r"\*", r"\d+")
            row += " +(?:bulkhead::)?" + re.escape(name)  # as Clang writes the runtime's classes
            if place is not None:
                row += " +" + re.escape(place) + r" (at|near) actors_to_debug\.cpp:(\d+)"
            matches = [match for line in lines if (match := re.fullmatch(row, line))]
            self.assertTrue(matches, f"{row}\n{text}")
            if (calls := CALLS.get(re.search(r"from (\w+)|$", place or "")[1])) is not None:
                how, line = matches[0].groups()
                self.assertLessEqual(abs(int(line) - calls), {"at": 0, "near": 3}[how], text)
            elif place is not None:
                self.assertEqual(matches[0][1], "at", text)
        self.assertRegex(text, rf"(?m)^<{self.RUNNING}\.1> +running +0 +0 +Runner$")
        self.assertNotRegex(text, r"(?m)^<0\.1>")
        self.assertIn(self.COUNTS, text)

    def check_sleeper(self, text):
        """Its frames from the switch to the trampoline, without those of the thread."""
        frames = [(int(number), name) for number, name in re.findall(
            r"(?m)^#(\d+) +(?:0x[0-9a-f]+ in )?([\w:]+)", text)]
        names = [name for _, name in frames]
        self.assertEqual([number for number, _ in frames], list(range(len(frames))), text)
        self.assertIn(names[0], self.SWITCHED, text)
        self.assertEqual(names.count("sleep_deeply"), 4, text)
        self.assertIn("bulkhead::this_actor::sleep_for", names)
        self.assertEqual(names[-1], "bulkhead_trampoline_frame", text)

    def check_stuck(self, reader, looper):
        """They are in threads, each in one of its own."""
        self.assertIn("actor <5.1>, Reader: stuck, on core ", reader)
        self.assertRegex(reader, r"(?m)^#\d+ .*read \(")
        self.assertRegex(reader, r"(?m)^#\d+ .*\bwait_for_a_byte \(")
        self.assertRegex(reader, r"(?m)^#\d+ .*\bReader::receive \(")
        self.assertRegex(looper, r"(?m)^#\d+ .*\bLooper::operator\(\)")
        self.assertNotIn("Reader", looper)
        threads = [re.search(r"It runs on thread (\d+)", text) for text in (reader, looper)]
        self.assertTrue(all(threads), reader + looper)
        self.assertNotEqual(threads[0][1], threads[1][1])


class Live(Actors):
    """On the program, stopped at a breakpoint. One session serves all: starting gdb takes long.

    The program does not end in it: gdb 13 fails or hangs, in one of a hundred times, when a
    process of many threads ends right after they went on.
    """

    PIDS = {
        "<0.1>": "bulkhead: actor <0.1> has ended",
        "1.7": "bulkhead: there is no actor <1.7>, and never was one",
        "123456": "bulkhead: there is no actor <123456>, and never was one",
        "0": "bulkhead: there is no live actor <0>",
        "main": "bulkhead: 'main' is no pid: write <3.1>, 3.1 or 3",
        "": "bulkhead: bt wants a pid",
    }
    COMMANDS = {
        "first": ("set $stopped = $_thread",),
        "actors": ("bulkhead actors",),
        "sleeper": ("bulkhead bt <1.1>",),
        "blocker": ("bulkhead bt 3.1",),
        "reader": ("bulkhead bt <5.1>",),
        "looper": ("bulkhead bt 6",),
        "idle": ("bulkhead bt 2.1",),
        "full": ("bulkhead bt 1 full",),
        "some frames": ("bulkhead bt 1 2", "echo ---\\n", "bulkhead bt 1 -2"),
        "no option": ("bulkhead bt 1 fulll", "bulkhead bt 5 fulll"),
        "no folder": ("bulkhead gcore /nonexistent/core",),
        "one": ("bulkhead actors 1",),
        "running": ("thread 1", f"bulkhead bt {Actors.RUNNING}"),
        "selected": ("thread",),
        **{f"pid {pid}": (f"bulkhead bt {pid}",) for pid in PIDS},
        "no number": ("bulkhead actors -3",),
        "end": ("thread $stopped", "bt 1", "continue", "bt 1"),
    }
    said = {}

    @classmethod
    def setUpClass(cls):
        commands = ["break stop_here", "break went_on", "run"]
        for name, some in cls.COMMANDS.items():
            commands += [f"echo === {name}\\n", *some]
        parts = re.split(r"(?m)^=== (.*)\n", gdb(cls.program(), commands=commands))
        cls.said = dict(zip(parts[1::2], parts[2::2]))

    def test_all_live_actors_are_listed(self):
        self.check_table(self.said["actors"])

    def test_backtraces_of_blocked_actors(self):
        self.assertIn("actor <1.1>, Sleeper: blocked, on core 1, 0 in its queue",
                      self.said["sleeper"])
        self.check_sleeper(self.said["sleeper"])
        self.assertIn("Blocker::receive", self.said["blocker"])
        self.assertNotIn("sleep_deeply", self.said["blocker"])

    def test_a_stuck_actor_is_shown_in_the_thread_that_it_was_left_in(self):
        self.check_stuck(self.said["reader"], self.said["looper"])
        self.assertIn(" (bulkhead-away).", self.said["reader"])

    def test_a_running_actor_is_shown_on_its_thread_whichever_is_selected(self):
        self.assertRegex(self.said["running"], r"It runs on thread \d+ \(bulkhead-0\)")
        self.assertRegex(self.said["running"], r"(?m)^#0 .*stop_here")
        self.assertIn("Current thread is 1 ", self.said["selected"])

    def test_an_idle_actor_has_no_stack(self):
        self.assertIn("actor <2.1>, Holder: idle, on core 0, 0 in its queue", self.said["idle"])
        self.assertIn("has no stack", self.said["idle"])

    def test_variables_can_be_shown(self):
        self.assertIn("seen = 3", self.said["full"])

    def test_static_variables_are_not_shown_among_the_others(self):
        self.assertNotIn("depths", self.said["full"])
        self.assertNotIn("static ", self.said["full"])

    def test_the_list_can_be_cut(self):
        self.assertRegex(self.said["one"], r"(?m)^<1\.1>")
        self.assertNotRegex(self.said["one"], r"(?m)^<2\.1>")
        self.assertIn("16 not shown", self.said["one"])

    def test_wrong_pids_are_named(self):
        for pid, error in self.PIDS.items():
            self.assertIn(error, self.said[f"pid {pid}"])

    def test_a_number_of_frames(self):
        first, last = self.said["some frames"].split("---")
        self.assertEqual(re.findall(r"(?m)^#(\d+)", first), ["0", "1"])
        self.assertRegex(first, rf"(?m)^#0 .*\b({'|'.join(self.SWITCHED)}) \(")
        self.assertEqual(len(re.findall(r"(?m)^#", last)), 2)
        self.assertIn("bulkhead_trampoline_frame", last)

    def test_what_gdb_refuses_is_an_error_with_a_text(self):
        self.assertEqual(self.said["no option"].count('bulkhead: No symbol "fulll"'), 2,
                         self.said["no option"])
        self.assertIn("bulkhead: Failed to open '/nonexistent/core'", self.said["no folder"])
        for said in self.said.values():
            self.assertNotIn("Python Exception", said)
            self.assertNotIn("Traceback", said)

    def test_a_number_that_is_none(self):
        self.assertIn("bulkhead: '-3' is no number of actors", self.said["no number"])

    def test_the_program_goes_on_unharmed(self):
        self.assertRegex(self.said["end"], r"(?s)\n#0 .*stop_here.*Breakpoint 2.*\n#0 .*went_on")


class LiveOptimised(Live):
    @staticmethod
    def program():
        return OPTIMISED


class Core(Actors):
    """On a core file of an abort in an actor, and on such without the memory of the stacks."""
    folder = None
    core = pathlib.Path()
    written = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.addClassCleanup(cls.folder.cleanup)
        cls.core = pathlib.Path(cls.folder.name) / "core"
        cls.written = gdb(cls.program(), commands=(
            "run abort", f"bulkhead gcore {cls.core}",
            "python print('stacks:', *(at for stack in stack_ranges(Layout()) for at in stack))"))

    def look_at(self, core):
        """What is said of it, in parts: table, sleeper, reader, looper, aborted."""
        return re.split(r"(?m)^=== .*$", gdb(self.program(), core, commands=(
            "bulkhead actors", "echo === sleeper\\n", "bulkhead bt <1.1>",
            "echo === reader\\n", "bulkhead bt 5", "echo === looper\\n", "bulkhead bt 6",
            "echo === aborted\\n", f"bulkhead bt {self.RUNNING}")))

    def test_it_shows_what_the_process_showed(self):
        self.assertIn("SIGABRT", self.written)
        self.assertRegex(self.written, r"core: 1[67] stacks of actors and cores are in it")
        self.assertLess(self.core.stat().st_size, 500 << 20)
        table, sleeper, reader, looper, aborted = self.look_at(self.core)
        self.check_table(table)
        self.assertNotIn("not in this core file", table)
        self.check_sleeper(sleeper)
        self.check_stuck(reader, looper)
        self.assertRegex(aborted, r"It runs on thread \d+")
        self.assertRegex(aborted, r"(?m)^#\d+ .*abort")
        self.assertRegex(aborted, r"(?m)^#\d+ .*bulkhead::core::Core::deliver_batch")

    def without_stacks(self, lose):
        """A copy in which lose(file, where its program header stands, where in the file the stack
        is, bytes) was called for each stack."""
        copy = self.core.with_name("core.less")
        shutil.copy(self.core, copy)
        numbers = list(map(int, re.search(r"(?m)^stacks: (.*)$", self.written)[1].split()))
        lost = 0
        with open(copy, "r+b") as file:
            header = file.read(64)
            table, = struct.unpack_from("<Q", header, 32)
            size, count = struct.unpack_from("<HH", header, 54)
            for at in range(table, table + count * size, size):
                file.seek(at)
                _, _, offset, address, _, length = struct.unpack("<IIQQQQ", file.read(40))
                for first, end in zip(numbers[::2], numbers[1::2]):
                    if address <= first and end <= address + length:
                        lose(file, at, offset + first - address, end - first)
                        lost += 1
        self.assertEqual(lost, len(numbers) // 2)
        return copy

    def check_without_stacks(self, core):
        lacking = "its stack is not in this core file"
        table, *backtraces = self.look_at(core)
        for name, (state, _) in self.ROWS.items():
            row = next(line for line in table.splitlines() if re.search(rf"[ :]{name}( |$)", line))
            if "blocked" in state:
                self.assertRegex(row, rf"[ :]{name} +\({lacking}\)$")
            else:
                self.assertEqual("stuck" in state or name == "Mailbox<int>",
                                 row.endswith(f" ({lacking})"), row)
        self.assertIn(self.COUNTS, table)
        self.assertIn("The stacks of 15 are not there: write core files with `bulkhead gcore`.",
                      table)
        for text in backtraces:
            self.assertRegex(text, r"(?m)^actor <\d+\.1>, ")
            self.assertRegex(text, r"(?m)^Its stack is not in this core file: write core files "
                                   r"with `bulkhead gcore`\.$")
            self.assertNotRegex(text, r"(?m)^#")

    def test_stacks_that_are_zero_in_it_are_not_shown(self):
        def blank(file, _, offset, size):
            file.seek(offset)
            file.write(bytes(size))
        self.check_without_stacks(self.without_stacks(blank))

    def test_stacks_that_it_ends_before_are_not_shown(self):
        def put_behind_the_end(file, header, _, _size):
            file.seek(header + 8)
            file.write(struct.pack("<Q", 1 << 50))
        self.check_without_stacks(self.without_stacks(put_behind_the_end))


class CoreOptimised(Core):
    @staticmethod
    def program():
        return OPTIMISED


class Trouble(unittest.TestCase):
    def test_without_a_process_or_actors(self):
        commands = ("bulkhead actors", "bulkhead bt 1", "bulkhead gcore x")
        text = gdb(PROGRAM, commands=(*commands, "break main", "run", "bulkhead actors",
                                      "bulkhead bt 0"))
        before, after = text.split("Breakpoint 1", 1)
        self.assertEqual(before.count("bulkhead: there is no process"), len(commands), text)
        self.assertIn("0 actors", after)
        self.assertIn("there is no actor <0>, and never was one", after)

    def test_what_a_core_file_cannot_do(self):
        with tempfile.TemporaryDirectory() as folder:
            core = pathlib.Path(folder) / "core"
            gdb(PROGRAM, commands=("break stop_here", "run", f"bulkhead gcore {core}"))
            text = gdb(PROGRAM, core, commands=(f"bulkhead gcore {folder}/another",))
            self.assertRegex(text, r"(?m)^bulkhead: \w.*")
            self.assertNotIn("Python Exception", text)

    def test_the_help_names_the_columns(self):
        text = gdb(PROGRAM, commands=("help bulkhead", "help bulkhead actors",
                                      "help bulkhead bt", "help bulkhead gcore"))
        columns = r"pid,\s+state,\s+core,\s+(queue length|length of the queue),\s+class,\s+and what"
        self.assertEqual(len(re.findall(columns, text)), 2, text)
        self.assertEqual(len(re.findall(r"blocked\s+or\s+stuck\s+(are\s+)?in", text)), 2, text)
        self.assertIn("Show the backtrace of an actor: bulkhead bt PID [full]", text)
        self.assertIn("Write a core file with the actors' stacks in it: bulkhead gcore FILE", text)

    def test_without_debugging_information(self):
        with tempfile.TemporaryDirectory() as folder:
            stripped = pathlib.Path(folder) / "stripped"
            subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
            commands = ("bulkhead actors", "bulkhead bt 1")
            text = gdb(stripped, commands=("break _Exit", "run", *commands))
            self.assertEqual(
                text.count("there is no debugging information of the runtime here"), 2, text)


class Names(unittest.TestCase):
    """What is made of the names that the debugging information has for functions."""

    NAMES = {
        "bulkhead::io::File::read[abi:cxx11](unsigned long)": "io::File::read",
        "bulkhead::blocking<T::operator()()::{lambda()#1}>(T::operator()()::{lambda()#1}&&)":
            "blocking",
        "bulkhead::Reply<int>::operator->() const": "Reply::operator->",
        "bulkhead::operator< <int>(A<int>, int)": "operator<",
    }
    USERS = {
        "V<std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator"
        "<char> >, std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, "
        "std::allocator<char> > > > >::receive": "V<std::vector<std::string>>::receive",
        "(anonymous namespace)::f(int (*)(char)) const &": "(anonymous namespace)::f",
        "main(int, char**)::Local::operator()(int)": "main::Local::operator()",
        "A<void (int)>::f(std::function<void (int)>)": "A<void (int)>::f",
    }

    def test_they_are_as_their_authors_wrote_them(self):
        names = [*self.NAMES, *self.USERS]
        functions = ["short"] * len(self.NAMES) + ["without_parameters"] * len(self.USERS)
        shown = gdb(commands=[f"python print({function}('{name}'))"
                              for function, name in zip(functions, names)])
        self.assertEqual(shown.splitlines(), [*self.NAMES.values(), *self.USERS.values()])


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
    PROGRAM, OPTIMISED = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main()
