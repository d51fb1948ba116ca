#!/usr/bin/env python3
"""Starts the store, talks to it, makes it fail in many ways, and looks at what is kept.

    examples/store/store_test.py PROGRAM [ARGUMENT OF PROGRAM...] [-- UNITTEST ARGUMENT...]
"""

import contextlib
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

COMMAND = []
TIMEOUT_S = 60


class Client:
    """A connection to the store."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
        self.lines = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def read(self):
        """The next line; empty when the store has ended the connection."""
        try:
            return self.lines.readline().decode().rstrip("\n")
        except ConnectionResetError:
            return ""

    def ask(self, line):
        self.send(line.encode() + b"\n")
        return self.read()

    def close(self):
        self.lines.close()
        self.socket.close()


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.cleanup = contextlib.ExitStack()
        self.addCleanup(self.cleanup.close)
        self.folder = pathlib.Path(self.cleanup.enter_context(tempfile.TemporaryDirectory()))
        self.file = self.folder / "snapshot"
        self.port = 0
        self.process = None

    def command(self, **options):
        """One that writes no snapshot unless it is told to, and knows no patience at its end."""
        options = {"port": 0, "file": self.file, "every": 1000, "drain": 0, **options}
        return [*COMMAND, *(word for name, value in options.items()
                            for word in ("--" + name, str(value)))]

    def start(self, before=None, **options):
        with open(self.folder / "errors", "ab") as errors:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                self.command(**options), stdout=subprocess.PIPE, stderr=errors, text=True,
                restore_signals=before is None, preexec_fn=before)
        self.cleanup.callback(self.end, self.process)
        for line in self.process.stdout:
            if match := re.match(r"listening on 127\.0\.0\.1:(\d+);", line):
                self.port = int(match[1])
                return
        self.fail(f"it does not listen: {self.errors()}")

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdout.close()

    def errors(self):
        return (self.folder / "errors").read_text(encoding="utf-8")

    def wait_for_error(self, pattern):
        """The log is told a little later than the clients."""
        deadline = time.monotonic() + TIMEOUT_S
        while not re.search(pattern, self.errors()):
            self.assertLess(time.monotonic(), deadline, f"no {pattern} in: {self.errors()}")
            time.sleep(0.01)

    def stop(self, number=signal.SIGTERM, status=0):
        self.process.send_signal(number)
        self.assertEqual(self.process.wait(TIMEOUT_S), status, self.errors())

    def connect(self):
        client = Client(self.port)
        self.cleanup.callback(client.close)
        return client

    def is_refused(self):
        """In a moment, when it accepts no more."""
        try:
            Client(self.port).close()
        except ConnectionError:
            return True
        return False

    def fails_to_start(self, status, message, **options):
        done = subprocess.run(self.command(**options), capture_output=True, text=True,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, message)

    def wait_until(self, condition):
        end = time.monotonic() + TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), end, "it takes too long")
            time.sleep(0.01)

    def check(self, client, *expected):
        """Pairs of a line and its answer."""
        for line, answer in expected:
            self.assertEqual(client.ask(line), answer, line)

    def connect_and_ask(self, line):
        with contextlib.closing(self.connect()) as client:
            return client.ask(line)

    def trap(self):
        """When it returns, that connection has ended."""
        self.wait_until(lambda: self.connect_and_ask("TRAP") == "")

    def crash(self):
        """When it returns, the next connection finds the store's successor."""
        client = self.connect()
        self.check(client, ("CRASH", "OK"))
        self.assertEqual(client.read(), "")


class Answers(StoreTest):
    def test_each_command(self):
        self.start()
        self.check(self.connect(), ("COUNT", "COUNT 0"), ("GET a", "NONE"), ("SET a 1", "OK"),
                   ("GET a", "VALUE 1"), ("SET a 2", "OK"), ("GET a", "VALUE 2"),
                   ("SET b 3 1000", "OK"), ("COUNT", "COUNT 2"), ("DEL a", "OK"),
                   ("DEL a", "NONE"), ("SNAPSHOT", "OK 1"), ("  GET   b  ", "VALUE 3"),
                   ("QUIT", "OK"), ("", ""))

    def test_lines_that_come_together_or_in_pieces(self):
        self.start()
        client = self.connect()
        client.send(b"SET a 1\r\nGET a\nGE")
        self.assertEqual([client.read(), client.read()], ["OK", "VALUE 1"])
        client.send(b"T a\nCOUNT\n")
        self.assertEqual([client.read(), client.read()], ["VALUE 1", "COUNT 1"])

    def test_what_makes_no_sense_is_refused(self):
        self.start()
        client = self.connect()
        for line, fault in (
                ("", "empty"), ("   ", "empty"), ("set a 1", "there are SET"), ("SET", "SET key"),
                ("SET a", "SET key"), ("SET a 1 2 3", "SET key"), ("GET a b", "GET key"),
                ("COUNT all", "COUNT"), ("GET a\tb", "control"), ("GET a\0", "control"),
                ("GET " + "k" * 129, "key is longer than 128"),
                ("SET a " + "v" * 4097, "value is longer than 4096"),
                *((f"SET a 1 {ttl}", "ttl must be a number") for ttl in (
                    "x", "1x", "0", "0.0001", "-1", "nan", "inf", "1e300", "3153600001", "0x10"))):
            self.assertRegex(client.ask(line), f"^ERROR .*{fault}", line)
        self.check(client, ("COUNT", "COUNT 0"), ("SET " + "k" * 128 + " " + "v" * 4096, "OK"),
                   ("GET " + "k" * 128, "VALUE " + "v" * 4096), ("SET a 1 3153600000", "OK"))

    def test_a_line_without_end_ends_the_connection(self):
        self.start()
        client = self.connect()
        client.send(b"x" * 100_000)
        self.assertRegex(client.read(), "^ERROR the line is longer than 8192 bytes")
        self.assertEqual(client.lines.readline(), b"")  # in order, and not by a reset

    def test_there_are_limits(self):
        self.start(keys=2, connections=1, idle=2)
        client = self.connect()
        self.check(client, ("SET a 1", "OK"), ("SET b 1", "OK"),
                   ("SET c 1", "ERROR the store is full"), ("SET a 2", "OK"))
        self.assertRegex(self.connect().read(), "^ERROR there are too many connections")
        self.assertRegex(client.read(), "^ERROR nothing has come for too long")
        self.assertEqual(client.read(), "")


class Expiry(StoreTest):
    def test_keys_are_gone_when_their_time_has_come_and_not_before(self):
        self.start()
        client = self.connect()
        self.check(client, ("SET c 1 1000", "OK"), ("SET a 1 1000", "OK"), ("SET b 1 0.4", "OK"))
        begin = time.monotonic()
        self.check(client, ("SET a 2 0.2", "OK"), ("SET c 2", "OK"))
        self.wait_until(lambda: client.ask("GET a") == "NONE")
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        self.wait_until(lambda: client.ask("COUNT") == "COUNT 1")
        self.check(client, ("GET b", "NONE"), ("GET c", "VALUE 2"), ("SNAPSHOT", "OK 1"))

    def test_a_key_that_is_set_again_forgets_its_time(self):
        self.start()
        client = self.connect()
        self.check(client, ("SET a 1 0.2", "OK"), ("SET a 2", "OK"), ("SET b 1 0.2", "OK"),
                   ("DEL b", "OK"), ("SET b 2", "OK"))
        time.sleep(0.4)
        self.check(client, ("GET a", "VALUE 2"), ("GET b", "VALUE 2"))

    def test_their_time_goes_on_while_nobody_runs(self):
        self.start()
        self.check(self.connect(), ("SET a 1 0.3", "OK"), ("SET b 1 1000", "OK"))
        self.stop()
        time.sleep(0.4)
        self.start()
        self.check(self.connect(), ("GET a", "NONE"), ("GET b", "VALUE 1"))


class Failure(StoreTest):
    def test_a_store_that_fails_comes_back_from_the_last_snapshot(self):
        self.start()
        client, other = self.connect(), self.connect()
        self.check(client, ("SET a 1", "OK"), ("SNAPSHOT", "OK 1"), ("SET b 1", "OK"))
        self.check(other, ("SET a 2", "OK"))
        self.crash()
        self.assertEqual([other.read(), client.read()], ["", ""])  # all know that it has failed
        self.check(self.connect(), ("GET a", "VALUE 1"), ("GET b", "NONE"), ("SET c 1", "OK"))
        self.wait_for_error("Store.* crashed: panic: a client has sent CRASH")
        self.stop()
        self.start()
        self.check(self.connect(), ("GET a", "VALUE 1"), ("GET c", "VALUE 1"), ("COUNT", "COUNT 2"))

    def test_a_connection_that_traps_ends_alone(self):
        self.start(connections=2)
        client = self.connect()
        self.check(client, ("SET a 1", "OK"))
        for number in range(20):
            # A moment passes until there is room for the next one.
            self.wait_until(lambda: self.connect_and_ask("GET a") == "VALUE 1")
            self.trap()
            self.check(client, ("GET a", "VALUE 1"), (f"SET b {number}", "OK"))
        self.wait_for_error("Connection.* crashed: trapped")

    def test_one_that_fails_again_and_again_is_given_up(self):
        self.start()

        def crash():
            with contextlib.suppress(ConnectionError):
                self.connect().ask("CRASH")
            return self.process.poll() is not None

        self.wait_until(crash)
        self.assertEqual(self.process.returncode, 1)
        self.assertRegex(self.errors(), "store: has ended: shutdown: too many restarts")

    def test_clients_that_write_while_it_fails_are_told_or_cut_off(self):
        self.start()
        stopping = threading.Event()
        wrong = []

        def write():
            while not stopping.is_set():
                client = Client(self.port)
                with contextlib.closing(client), contextlib.suppress(ConnectionError):
                    for i in range(100):
                        answer = client.ask(f"SET k{i} 1")
                        if not re.fullmatch(r"OK||ERROR the store does not answer: .*", answer):
                            wrong.append(answer)
                        if not answer:
                            break

        writers = [threading.Thread(target=write) for _ in range(8)]
        for writer in writers:
            writer.start()
        try:
            for _ in range(3):
                time.sleep(0.1)
                self.crash()
        finally:
            stopping.set()
            for writer in writers:
                writer.join()
        self.assertEqual(wrong, [])
        self.check(self.connect(), ("SET a 1", "OK"), ("GET a", "VALUE 1"))
        self.stop()


class Snapshots(StoreTest):
    def test_the_last_one_has_all_that_was_answered(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start()

            def write(name):
                client = Client(self.port)
                with contextlib.closing(client):
                    client.send(b"".join(b"SET %d-%d %d\n" % (name, i, i) for i in range(200)))
                    for _ in range(200):
                        self.assertEqual(client.read(), "OK")

            writers = [threading.Thread(target=write, args=(name,)) for name in range(10)]
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
            self.stop(number)
            self.start()
            self.check(self.connect(), ("COUNT", "COUNT 2000"), ("GET 7-123", "VALUE 123"))
            self.stop()

    def test_they_are_written_from_time_to_time(self):
        self.start(every=0.1)
        before = self.file.read_bytes()
        self.check(self.connect(), ("SET a 1", "OK"))
        self.wait_until(lambda: self.file.read_bytes() != before)
        self.end(self.process)
        self.start()
        self.check(self.connect(), ("GET a", "VALUE 1"))

    def test_while_it_cannot_be_written_the_last_one_stays(self):
        def allow_small_files_only():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

        self.start(allow_small_files_only)  # SIGXFSZ is ignored, as in Python: so the write fails
        client = self.connect()
        self.check(client, ("SET a 1", "OK"), ("SNAPSHOT", "OK 1"))
        self.check(client, *((f"SET {i} " + "v" * 4000, "OK") for i in range(3)))
        self.assertRegex(client.ask("SNAPSHOT"), "^ERROR no snapshot: .*File too large")
        self.check(client, ("COUNT", "COUNT 4"))
        self.crash()
        client = self.connect()
        self.check(client, ("COUNT", "COUNT 1"), ("GET a", "VALUE 1"), ("SET b 1", "OK"),
                   ("SNAPSHOT", "OK 2"))

    def test_whenever_the_process_is_killed_there_is_one(self):
        kept = 0
        for _ in range(6):
            self.start()
            client = self.connect()
            self.assertEqual(client.ask("GET last"), f"VALUE {kept}" if kept else "NONE")
            self.check(client, *((f"SET {i} " + "v" * 4096, "OK") for i in range(300)))
            kept += 1
            self.check(client, (f"SET last {kept}", "OK"), ("SNAPSHOT", "OK 301"))
            killer = threading.Timer(0.1, self.process.kill)
            killer.start()
            sent = kept
            with contextlib.suppress(ConnectionError):
                while client.ask(f"SET last {sent + 1}") == "OK":
                    sent += 1
                    if client.ask("SNAPSHOT") == "OK 301":
                        kept = sent
            killer.join()
            self.process.wait()
            if f"last {sent} -" in self.file.read_text(encoding="utf-8"):
                kept = sent  # it was written, but there was no time to answer
        self.assertEqual(self.errors(), "")

    def test_damaged_ones_are_put_aside(self):
        self.start()
        self.check(self.connect(), ("SET a 1", "OK"), ("SET b 1", "OK"))
        self.stop()
        good = self.file.read_bytes()
        damaged = [good.replace(b"a 1", b"a 2"), good[:-10], good[10:], b"", b"no snapshot\n",
                   good + b"c 1 -\n"]
        for content in damaged:
            self.file.write_bytes(content)
            self.start()
            self.check(self.connect(), ("COUNT", "COUNT 0"))
            self.stop()
        for i, content in enumerate(damaged, 1):
            aside = self.folder / f"snapshot.damaged.{i}"
            self.assertEqual(aside.read_bytes(), content)
            self.assertRegex(self.errors(), re.escape(f"{self.file} is damaged: its end is missing,"
                                                      f" or its checksum is wrong. It is kept as "
                                                      f"{aside}"))
        self.file.write_bytes(good)
        self.start()
        self.check(self.connect(), ("COUNT", "COUNT 2"))

    def test_a_place_where_none_can_be_written_is_told_at_once(self):
        self.file = self.folder / "missing" / "snapshot"
        self.fails_to_start(2, "could not be started: child snapshotter: .*No such file")
        self.file = self.folder
        self.fails_to_start(2, "could not be started: child store: .*Is a directory")

    def test_one_that_cannot_be_written_is_told(self):
        folder = self.folder / "data"
        folder.mkdir()
        self.file = folder / "snapshot"
        self.start()
        client = self.connect()
        folder.rename(self.folder / "moved")
        self.check(client, ("SET a 1", "OK"))
        self.assertRegex(client.ask("SNAPSHOT"), "^ERROR no snapshot: .*No such file")
        self.assertEqual(client.ask("GET a"), "VALUE 1")
        self.stop(status=1)
        self.assertRegex(self.errors(), "store: no snapshot: .*No such file")


class Process(StoreTest):
    def test_clients_may_finish(self):
        self.start(drain=TIMEOUT_S)
        client = self.connect()
        self.check(client, ("SET a 1", "OK"))
        self.process.send_signal(signal.SIGTERM)
        self.assertRegex(self.process.stdout.readline(), "draining: 1 connections")
        self.wait_until(self.is_refused)
        self.check(client, ("SET a 2", "OK"), ("QUIT", "OK"))
        self.assertEqual(self.process.wait(TIMEOUT_S), 0, self.errors())
        self.start()
        self.check(self.connect(), ("GET a", "VALUE 2"))

    def test_clients_that_do_not_finish_are_cut_off(self):
        self.start(drain=0.1)
        client = self.connect()
        self.check(client, ("SET a 1", "OK"))
        self.stop()
        self.assertEqual(client.read(), "")

    def test_a_second_signal_ends_it_at_once(self):
        self.start(drain=1000)
        self.check(self.connect(), ("SET a 1", "OK"))
        self.process.send_signal(signal.SIGTERM)
        self.assertRegex(self.process.stdout.readline(), "draining")
        self.stop(signal.SIGINT, -signal.SIGINT)

    def test_options_that_make_no_sense_are_refused(self):
        for options in ({"port": 65536}, {"port": -1}, {"port": "x"}, {"every": 0}, {"keys": 0},
                        {"connections": 0}, {"idle": 0}, {"drain": -1}, {"cores": 0}, {"file": ""},
                        {"unknown": 1}):
            self.fails_to_start(2, "^store: .*\nRun store --help", **options)

    def test_a_port_that_is_taken_is_told(self):
        self.start()
        self.fails_to_start(1, "store: cannot listen .*Choose another port", port=self.port)


if __name__ == "__main__":
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    COMMAND = sys.argv[1:split]
    if not COMMAND:
        sys.exit(__doc__)
    unittest.main(argv=[sys.argv[0], *sys.argv[split + 1:]])
