#!/usr/bin/env python3
"""Lets connections of the store trap at random while others are served, and looks at those others.

    tools/store_storm.py PROGRAM [SECONDS [SEED]]      of each of the two parts; 10 if not given

The same clients are served twice: undisturbed, and while a second process opens connections, says
something, and has their actors call abort(). Ends with 1 unless every answer was right,
no connection of the others was closed, each that trapped was, the keys are those that were set, no
memory and no descriptor is left behind, and the 99th percentile of the others' latency is at most
twice that of the undisturbed part, and 5 ms.
"""

import asyncio
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

CLIENTS = 20
KEYS = 50  # of each
PAUSE_S = 0.005  # of a client, after an answer: neither it nor the store is busy all the time
TRAPS_AT_ONCE = 8
GROWTH_ALLOWED_KB = 4096


class Wrong(Exception):
    """An answer that cannot be."""


class Client:
    """A connection whose answers are checked."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, line, expected):
        self.writer.write(line.encode() + b"\n")
        answer = (await self.reader.readline()).decode().rstrip("\n")
        if answer != expected:
            raise Wrong(f"{line}: '{answer}' instead of '{expected}'")

    def close(self):
        self.writer.close()


async def serve_well(port, number, end, latencies):
    """A client that is to notice nothing, and leaves no keys behind."""
    client = await Client.connect(port)
    chance = random.Random(number)
    values = {}
    count = 0
    while time.monotonic() < end:
        key = f"k{number}-{chance.randrange(KEYS)}"
        begin = time.perf_counter()
        match chance.randrange(4):
            case 0 if key in values:
                del values[key]
                await client.ask(f"DEL {key}", "OK")
            case 0 | 1:
                count += 1
                values[key] = f"v{count}"
                await client.ask(f"SET {key} {values[key]}", "OK")
            case _:
                expected = f"VALUE {values[key]}" if key in values else "NONE"
                await client.ask(f"GET {key}", expected)
        latencies.append(time.perf_counter() - begin)
        await asyncio.sleep(PAUSE_S)
    for key in values:
        await client.ask(f"DEL {key}", "OK")
    client.close()


async def trap(port, number, end, seed):
    """Connections that trap, one after the other. Returns how many there were."""
    chance = random.Random(seed * 1000 + number)
    count = 0
    while time.monotonic() < end:
        client = await Client.connect(port)
        key = f"t{number}"
        for _ in range(chance.randrange(4)):
            await client.ask(f"SET {key} {'x' * chance.randrange(1, 2000)}", "OK")
            await client.ask(f"DEL {key}", "OK")
        # Before others, which are never answered, and in the middle of a line.
        client.writer.write(b"TRAP\n" + chance.choice([b"", b"GET a\n", b"SET a 1\nGET", b"CO"]))
        try:
            answer = await client.reader.read()
        except ConnectionResetError:
            answer = b""
        if answer:
            raise Wrong(f"TRAP: {answer}")
        client.close()
        count += 1
    return count


async def storm(port, seconds, seed):
    end = time.monotonic() + seconds
    counts = await asyncio.gather(*(trap(port, i, end, seed) for i in range(TRAPS_AT_ONCE)))
    print(sum(counts))


async def serve_others(port, seconds):
    """Latencies in seconds, sorted."""
    end = time.monotonic() + seconds
    latencies = []
    await asyncio.gather(*(serve_well(port, i, end, latencies) for i in range(CLIENTS)))
    return sorted(latencies)


async def count(port, expected):
    client = await Client.connect(port)
    await client.ask("COUNT", f"COUNT {expected}")
    client.close()


def p99(latencies):
    return latencies[len(latencies) * 99 // 100]


def left_behind(process):
    """Memory in kB, and open descriptors, once it is at rest."""
    time.sleep(2)
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    descriptors = len(list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir()))
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]), descriptors


def live_through(process, port, seconds, seed):
    """What the store that runs has to bear. Yields what is wrong."""
    undisturbed = asyncio.run(serve_others(port, seconds))
    storm_for = ["--storm", str(port), str(seconds), str(seed)]
    # The first one makes what is kept for the next ones.
    for part in ("warm-up", "storm"):
        before = left_behind(process)
        with subprocess.Popen([sys.executable, __file__, *storm_for], stdout=subprocess.PIPE,
                              text=True) as other:
            disturbed = asyncio.run(serve_others(port, seconds))
            traps = other.communicate()[0]
        asyncio.run(count(port, 0))
        if other.returncode != 0:
            yield "the connections that trap went wrong"
            return
        print(f"{part}: {traps.strip()} traps, {len(disturbed)} requests of others")
    after = left_behind(process)
    print(f"p99 of the others: {p99(undisturbed) * 1e3:.2f} ms undisturbed, "
          f"{p99(disturbed) * 1e3:.2f} ms in the storm")
    print(f"memory {before[0]} -> {after[0]} kB, descriptors {before[1]} -> {after[1]}")
    if not int(traps):
        yield "nothing has trapped"
    if p99(disturbed) > 2 * p99(undisturbed) + 0.005:
        yield "the others were slowed down"
    if after[0] - before[0] > GROWTH_ALLOWED_KB:
        yield "memory has grown"
    if after[1] > before[1]:
        yield "descriptors have leaked"


def main(program, seconds, seed):
    print(f"{CLIENTS} clients of the store for {seconds} s, and again while connections trap; "
          f"seed {seed}")
    with tempfile.TemporaryDirectory() as folder:
        errors = pathlib.Path(folder) / "errors"
        with errors.open("wb") as log:
            process = subprocess.Popen(  # pylint: disable=consider-using-with
                [program, "--port", "0", "--file", f"{folder}/snapshot", "--drain", "0"],
                stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            port = None
            for line in process.stdout:
                if match := re.match(r"listening on 127\.0\.0\.1:(\d+);", line):
                    port = int(match[1])
                    break
            if port is None:
                raise Wrong("the store does not listen")
            wrong = list(live_through(process, port, seconds, seed))
            process.terminate()
            if process.wait(60) != 0:
                wrong.append(f"the store has ended with {process.returncode}")
        except (Wrong, ConnectionError) as error:
            wrong = [str(error)]
        finally:
            process.kill()
            process.wait()
        if wrong:
            tail = errors.read_text(encoding="utf-8", errors="replace")[-2000:]
            sys.exit("store_storm: " + "; ".join(wrong) + "\n" + tail)
    print("the others have noticed nothing")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "--storm":
        asyncio.run(storm(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
    elif 2 <= len(sys.argv) <= 4:
        main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10.0,
             int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns() % 1_000_000)
    else:
        sys.exit(__doc__)
