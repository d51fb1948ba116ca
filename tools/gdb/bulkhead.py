"""Bulkhead for gdb: the actors of a process, and the stacks of those that are blocked.

    (gdb) source .../share/bulkhead/gdb/bulkhead.py
    (gdb) bulkhead actors [MOST]     all live actors, one a line; at most 1000 unless MOST is given
    (gdb) bulkhead bt PID [full]     the backtrace of one; PID is <3.1>, 3.1 or 3
    (gdb) bulkhead gcore FILE        a core file of a live process, in which the actors' stacks are

It works on live processes and on core files, on x86-64 and AArch64, and changes nothing in either:
a blocked actor's stack is unwound from the registers that it saved when it was left (the maps of
those frames stand in src/machine/switch.cpp). The process must be stopped. What a running core has
in its hands may be seen half done.
"""

import itertools
import os
import re
import struct
import types

import gdb
import gdb.FrameDecorator
import gdb.unwinder

TURNS = ("vacant", "idle", "ready", "running", "about to wait", "blocked", "stuck")
VACANT, IDLE, READY, RUNNING, OPENING, PARKED, AWAY = range(7)
ENDING = 16         # Slot::kEnding
GUEST_HOME = 0xfffe  # kGuestHome: not an actor
NO_CORE = 0xffff
MOST_SHOWN = 1000
MOST_FRAMES_TO_PLACE = 24
MOST_LINES_AWAY = 64

# Frames of the runtime; those of its parts that users do not call; and those that call the user's
# code, which begins above them.
LIBRARY = re.compile(r"^bulkhead::")
MACHINERY = re.compile(
    r"^bulkhead(::(core|handler|mailbox|machine|members|memory|sendable|sync|wait)::|_\w+$)")
SHELL = re.compile(
    r"^bulkhead::(core::(call_|destroy_state|deliver_receive_timeout)|handler::deliver)")
# Neither the user's nor the runtime's: the standard library, and what an implementation may name.
SYSTEM = re.compile(r"^(std::|__)")
SYSTEM_OBJECT = re.compile(
    r"/(lib(c|m|pthread|rt|stdc\+\+|c\+\+|gcc_s|.san)|ld-linux[^/]*)[-.\d]*\.so")
LAMBDA = re.compile(r"::[{<]lambda\(.*")
# Headers that have functions without a name of theirs in them: lambdas.
LIBRARY_HEADER = re.compile(r"\binclude/bulkhead/.*\.hpp$")
SYSTEM_HEADER = re.compile(r"/include/c\+\+/")
C_HEADER = re.compile(r"^/usr/include/(?!c\+\+/)")
OTHERS_HEADER = re.compile(rf"{LIBRARY_HEADER.pattern}|{SYSTEM_HEADER.pattern}|^/usr/include/")
# What the name of a function is taken apart into, to find its parameters; and what is left out of
# it: what its author did not write.
NAME_PART = re.compile(r"\(anonymous namespace\)|\boperator *(?:\(\)|[-<>=]+)|.")
NOT_WRITTEN = (
    (re.compile(r"\[abi:\w+\]|\b__cxx11::"), ""),
    (re.compile(r"\bstd::basic_string<char, std::char_traits<char>, std::allocator<char> *>"),
     "std::string"),
    (re.compile(r", std::allocator<(?:[^<>]|<[^<>]*>)*>"), ""),
    (re.compile(r"(?<!operator) +>"), ">"),
)

NO_DEBUG_INFO = (
    "bulkhead: there is no debugging information of the runtime here. Is the program (or the core "
    "file's executable) loaded, does it use Bulkhead, and were Bulkhead and the program compiled "
    "with -g and not stripped?")

# Where the switch has put the registers, as offsets from the saved stack pointer; what the
# stack pointer is when the stack goes on; and where it goes on.
FRAMES = {
    "x86-64": {
        "registers": {"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbx": 32, "rbp": 40, "rip": 48},
        "size": 56, "pc": "rip", "sp": "rsp",
    },
    "aarch64": {
        "registers": {"x19": 0, "x20": 8, "x21": 16, "x22": 24, "x23": 32, "x24": 40, "x25": 48,
                      "x26": 56, "x27": 64, "x28": 72, "x29": 80, "x30": 88, "pc": 88},
        "size": 160, "pc": "pc", "sp": "sp",
    },
}


def frame_layout():
    name = gdb.selected_inferior().architecture().name()
    if "x86-64" in name:
        return FRAMES["x86-64"]
    if name.startswith("aarch64"):
        return FRAMES["aarch64"]
    raise gdb.GdbError(f"bulkhead: stacks of {name} are not known here: only x86-64 and AArch64")


# --- the runtime's data ---

def number_at(address, size=8):
    data = gdb.selected_inferior().read_memory(address, size)
    return int.from_bytes(bytes(data), "little")


class Layout:
    """Where the members of the runtime's types lie, from the debugging information."""
    def __init__(self):
        try:
            self.slot_type = gdb.lookup_type("bulkhead::core::Slot")
            self.stack_type = gdb.lookup_type("bulkhead::machine::Stack")
            self.core_type = gdb.lookup_type("bulkhead::core::Core")
            self.class_type = gdb.lookup_type("bulkhead::ActorClass")
            self.base = int(gdb.parse_and_eval("(unsigned long)'bulkhead::core::Slab::base_'"))
            self.used_at = int(gdb.parse_and_eval("(unsigned long)&'bulkhead::core::Slab::used_'"))
        except gdb.error as error:
            raise gdb.GdbError(NO_DEBUG_INFO) from error
        self.slot_size = self.slot_type.sizeof
        self.offsets = {field.name: field.bitpos // 8 for field in self.slot_type.fields()
                        if hasattr(field, "bitpos")}
        self.class_name = self.offset(self.class_type, "name")
        self.stack_saved = self.offset(self.stack_type, "saved")
        self.stack_class = self.offset(self.stack_type, "size_class")
        self.stack_bottom = self.offset(self.stack_type, "bottom")
        self.core_stack = self.offset(self.core_type, "stack")
        self.core_running = self.offset(self.core_type, "running")

    @staticmethod
    def offset(kind, member):
        for field in kind.fields():
            if field.name == member:
                return field.bitpos // 8
        raise gdb.GdbError(f"bulkhead: {kind.name} has no member {member}: this script is of "
                           "another version of Bulkhead than the program")

    def has_stack(self, top):
        """Whether a stack's memory is there. A core file may hold zeros in its place, or end before
        it; no stack's record is zero."""
        try:
            return number_at(top + self.stack_bottom) != 0
        except gdb.MemoryError:
            return False

    def stack_size(self, top):
        return 16384 << number_at(top + self.stack_class, 1)

    def used(self):
        return number_at(self.used_at, 4) if self.base != 0 else 0


class Actor:
    """What a slot says of its actor."""
    def __init__(self, layout, index, data):
        def number(member, size):
            at = layout.offsets[member]
            return int.from_bytes(data[at:at + size], "little")

        self.layout = layout
        self.index = index
        self.turn = number("turn", 1)
        self.home = number("home", 2)
        self.flags = number("flags", 2)
        generation = number("generation", 4)
        self.ending = self.flags & ENDING != 0
        self.generation = generation - 1 if self.ending else generation
        self.length = number("length", 4)
        self.kind = number("kind", 8)
        self.stack = number("stack", 8)

    @property
    def lives(self):
        return VACANT < self.turn < len(TURNS) and self.home < GUEST_HOME and self.kind != 0

    @property
    def pid(self):
        return f"<{self.index}.{self.generation}>"

    @property
    def state(self):
        text = TURNS[self.turn]
        if self.turn == READY and self.stack != 0:
            text = "ready, mid-way"
        return text + (", ending" if self.ending else "")

    @property
    def class_name(self):
        # A std::string_view: its length, then its text.
        at = self.kind + self.layout.class_name
        try:
            length, text = number_at(at), number_at(at + 8)
            if length > 4096:
                return "?"
            name = bytes(gdb.selected_inferior().read_memory(text, length))
            return name.decode("utf-8", "replace")
        except gdb.MemoryError:
            return "?"

    @property
    def saved(self):
        """The stack pointer that it left its stack with; 0 when it has left none."""
        return number_at(self.stack + self.layout.stack_saved) if self.stack != 0 else 0

    @property
    def is_running(self):
        return self.turn in (RUNNING, OPENING)

    @property
    def running_on(self):
        """The stack that it runs on, whoever's it is; 0 when nobody knows."""
        if self.turn == AWAY:
            return self.stack
        core = core_at(self.home)
        slot = self.layout.base + self.index * self.layout.slot_size
        if core == 0 or number_at(core + self.layout.core_running) != slot:
            return 0
        return number_at(core + self.layout.core_stack)

    @property
    def lacks_stack(self):
        """Whether it has a stack whose memory is not there: nothing is to be said of its frames."""
        try:
            top = self.running_on if self.is_running else self.stack
            if top == 0:
                return False
            if not self.layout.has_stack(top):
                return True
            if self.is_running or self.turn == AWAY:
                return False
            frame = frame_layout()
            return number_at(self.saved + frame["registers"][frame["pc"]]) == 0
        except gdb.MemoryError:
            return True


def read_slots(layout, first, count):
    """Some slots, in few reads."""
    at = layout.base + first * layout.slot_size
    data = bytes(gdb.selected_inferior().read_memory(at, count * layout.slot_size))
    for i in range(count):
        yield Actor(layout, first + i, data[i * layout.slot_size:(i + 1) * layout.slot_size])


def live_actors(layout):
    used, step = layout.used(), 4096
    for first in range(0, used, step):
        for actor in read_slots(layout, first, min(step, used - first)):
            if actor.lives:
                yield actor


def find_actor(layout, text):
    match = re.fullmatch(r"<?(\d+)(?:\.(\d+))?>?", text)
    if match is None:
        raise gdb.GdbError(f"bulkhead: '{text}' is no pid: write <3.1>, 3.1 or 3")
    index = int(match[1])
    if index >= layout.used():
        raise gdb.GdbError(f"bulkhead: there is no actor <{text.strip('<>')}>, and never was one: "
                           f"{layout.used()} slots have been used")
    actor = next(read_slots(layout, index, 1))
    if match[2] is not None and int(match[2]) != actor.generation:
        if int(match[2]) > actor.generation:
            raise gdb.GdbError(f"bulkhead: there is no actor <{index}.{match[2]}>, and never was "
                               "one")
        raise gdb.GdbError(f"bulkhead: actor <{index}.{match[2]}> has ended")
    if actor.home == GUEST_HOME:
        raise gdb.GdbError(f"bulkhead: <{index}> is no actor: a thread outside waits with it")
    if not actor.lives:
        raise gdb.GdbError(f"bulkhead: there is no live actor <{text.strip('<>')}>")
    return actor


# --- unwinding ---

class LeftStack(gdb.unwinder.Unwinder):
    """While it is given a saved stack pointer, it makes gdb believe that the selected thread's
    innermost frame was called by the frame that left that stack."""

    def __init__(self):
        super().__init__("bulkhead")
        self.saved = 0
        self.at = None  # pc and sp of the selected thread

    def __call__(self, pending):
        if self.saved == 0:
            return None
        layout = frame_layout()
        sp = pending.read_register(layout["sp"])
        pc = pending.read_register(layout["pc"])
        if (int(pc), int(sp)) != self.at:
            return None
        word = gdb.lookup_type("unsigned long")
        # Its stack pointer is the left stack's, so that gdb finds the frames above it in order.
        here = types.SimpleNamespace(sp=gdb.Value(self.saved).cast(word).cast(sp.type), pc=pc)
        info = pending.create_unwind_info(here)
        for name, offset in layout["registers"].items():
            kind = pending.read_register(name).type
            info.add_saved_register(name, gdb.Value(number_at(self.saved + offset)).cast(word)
                                    .cast(kind))
        info.add_saved_register(layout["sp"],
                                gdb.Value(self.saved + layout["size"]).cast(word).cast(sp.type))
        return info


LEFT = LeftStack()
gdb.unwinder.register_unwinder(None, LEFT, replace=True)


class On:
    """with On(actor): the frames of its left stack are those above the selected thread's."""
    def __init__(self, actor):
        self.saved = actor.saved

    def __enter__(self):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("bulkhead: no thread is selected: is the program running, or a core "
                               "file loaded?")
        layout = frame_layout()
        gdb.newest_frame().select()
        LEFT.at = (int(gdb.parse_and_eval("$" + layout["pc"])),
                   int(gdb.parse_and_eval("$" + layout["sp"])))
        LEFT.saved = self.saved
        gdb.invalidate_cached_frames()
        return self

    def __exit__(self, *_):
        LEFT.saved = 0
        gdb.invalidate_cached_frames()


def frames_of(actor):
    """Its frames, the innermost first. Within On(actor) only."""
    return frames_from(gdb.newest_frame().older())


def frames_from(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


def innermost():
    """Those of the selected thread that its registers suffice for: the innermost and those that it
    is inlined into."""
    for frame in frames_from(gdb.newest_frame()):
        yield frame
        if frame.type() != gdb.INLINE_FRAME:
            break


def file_of(frame):
    """Where its function was written; "" when nobody knows. (Of an inlined function, gdb's symbol
    says where it was called.)"""
    if frame.type() == gdb.INLINE_FRAME:
        symtab = frame.find_sal().symtab
    else:
        symtab = frame.function().symtab if frame.function() is not None else None
    return symtab.filename if symtab is not None else ""


USERS, CALLED, INTERNAL, SYSTEMS = "the user's", "the library's", "its parts'", "the system's"


def whose(frame):
    """Whose code it is."""
    name = frame.name() or ""
    if MACHINERY.match(name):
        return INTERNAL
    if LIBRARY.match(name):
        return CALLED
    if SYSTEM.match(name) or SYSTEM_OBJECT.search(gdb.solib_name(frame.pc()) or ""):
        return SYSTEMS
    if frame.type() == gdb.INLINE_FRAME and "::" not in name and C_HEADER.search(file_of(frame)):
        return SYSTEMS  # the checks of _FORTIFY_SOURCE
    if name == "operator()":  # a lambda's
        if LIBRARY_HEADER.search(file_of(frame)):
            return INTERNAL
        if SYSTEM_HEADER.search(file_of(frame)):
            return SYSTEMS
    return USERS


def place_of(frame):
    """A function of the user's, and the line that it is at."""
    where = frame.name() or f"0x{frame.pc():x}"
    if where == "operator()":
        where = "a lambda"
    elif (inner := LAMBDA.search(where)) is not None:
        where = "a lambda in " + without_parameters(where[:inner.start()])
    else:
        where = without_parameters(where)
    return where + line_of(frame)


def line_of(frame):
    """The line that a function of the user's is at. Where the compiler has moved code of others'
    headers into it, gdb knows those headers' lines only: then the nearest of its own."""
    sal = frame.find_sal()
    if sal.symtab is None or not sal.line:
        return ""
    how = "at"
    if OTHERS_HEADER.search(sal.symtab.filename):
        how = "near"
        sal = next(lines_around(sal, function_at(frame.pc() - 1)), None)
        if sal is None:
            return ""
    return f" {how} {sal.symtab.filename.rsplit('/', 1)[-1]}:{sal.line}"


def lines_around(sal, function):
    """A function's own lines: those before, the nearest first, and then those behind."""
    for step in (lambda it: it.pc - 1, lambda it: it.last + 1 if it.last is not None else 0):
        here = sal
        for _ in range(MOST_LINES_AWAY):
            at = step(here)
            here = gdb.find_pc_line(at) if at > 0 else None
            if here is None or here.symtab is None or not here.pc:
                break
            if (here.line and not OTHERS_HEADER.search(here.symtab.filename)
                    and function_at(at) == function):
                yield here


def function_at(pc):
    """What tells which function an instruction is of, also when that was inlined."""
    block = gdb.block_for_pc(pc)
    while block is not None and block.function is None:
        block = block.superblock
    return (block.function.name, block.start, block.end) if block is not None else None


def place_in(frames):
    """Of a stack's frames, the innermost first: what the user's code has called, of the library or
    else of the system, and where."""
    call = system = place = ""
    for frame in itertools.islice(frames, MOST_FRAMES_TO_PLACE):
        name = frame.name() or ""
        if SHELL.match(name):
            break
        owner = whose(frame)
        if owner == USERS:
            place = place_of(frame)
            break
        if owner == CALLED:
            call = short(name)
        elif owner == SYSTEMS and name:
            system = re.sub(r"^(__GI_|__libc_|_)*", "", short(name))
    return ", from ".join(part for part in (call or system, place) if part)


def where_blocked(actor, threads):
    """What it is blocked or stuck in."""
    if actor.turn == AWAY:
        thread = thread_of(actor, threads)
        if thread is None:
            return ""
        with Selected(thread):
            return place_in(innermost() if actor.lacks_stack else frames_from(gdb.newest_frame()))
    if actor.stack == 0 or actor.lacks_stack:
        return ""
    with On(actor):
        return place_in(frames_of(actor))


def no_stack():
    """What is said of an actor whose stack's memory is not there."""
    return "its stack is not in this core file" if is_core_file() else "its stack cannot be read"


def advice():
    return ": write core files with `bulkhead gcore`" if is_core_file() else ""


def is_core_file():
    # gdb tells from 12 on. The stacks of live processes are there.
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is None or connection.type == "core"


def short(name):
    """A function of the library's or of the system's, without what it is made for."""
    name = re.sub(r"^bulkhead::", "", without_parameters(name))
    while "<" in name and (plain := re.sub(r"(?<!operator)<[^<>]*>", "", name)) != name:
        name = plain
    return name.rstrip()


def without_parameters(name):
    """The name of a function as its author would write it. Parentheses in a template's arguments
    stay."""
    for what, instead in NOT_WRITTEN:
        name = what.sub(instead, name)
    kept, parentheses, angles = "", 0, 0
    for part in NAME_PART.findall(name):
        if angles == 0 and part in "()":
            parentheses += 1 if part == "(" else -1
            continue
        if parentheses == 0:
            angles += {"<": 1, ">": -1}.get(part, 0)
            kept += part
    return re.sub(r"( const| volatile| ?&)+ *$", "", kept)


class WithoutStatics:
    """A frame filter for gdb: of a frame's variables, those that are in it. Others, such as a table
    in a function, are no part of any actor, and may be long."""
    name = "bulkhead"
    priority = 100
    enabled = False

    def __init__(self):
        gdb.frame_filters[self.name] = self

    @staticmethod
    def filter(frames):
        return map(FrameWithoutStatics, frames)

    def __enter__(self):
        self.enabled = True

    def __exit__(self, *_):
        self.enabled = False


class FrameWithoutStatics(gdb.FrameDecorator.FrameDecorator):
    def function(self):
        return self.inferior_frame().name() or super().function()

    def frame_locals(self):
        shown = []
        try:
            block = self.inferior_frame().block()
        except RuntimeError:  # there is no debugging information
            return shown
        while block is not None:
            shown += [gdb.FrameDecorator.SymValueWrapper(symbol, None) for symbol in block
                      if symbol.is_variable and symbol.needs_frame and not symbol.is_argument]
            if block.function is not None:
                break
            block = block.superblock
        return shown


WITHOUT_STATICS = WithoutStatics()


def backtrace(options):
    if not {"full", "-full"} & set(options.split()):
        return gdb.execute(f"bt {options}", to_string=True)
    with WITHOUT_STATICS:
        return gdb.execute(f"with print static-members off -- bt {options}", to_string=True)


# --- commands ---

class Bulkhead(gdb.Command):
    """Actors of a program that uses Bulkhead.

bulkhead actors [MOST]  lists the live actors: pid, state, core, queue length, class, and what
                        those that are blocked or stuck are in. At most 1000, or MOST.
bulkhead bt PID [full]  shows the backtrace of an actor. PID is <3.1>, 3.1 or 3.
bulkhead gcore FILE     writes a core file, as gcore does, with the actors' stacks in it."""

    def __init__(self):
        super().__init__("bulkhead", gdb.COMMAND_STACK, prefix=True)


def require_process():
    if gdb.selected_inferior().pid == 0 or not gdb.selected_inferior().threads():
        raise gdb.GdbError("bulkhead: there is no process: run the program, attach to it, or load "
                           "a core file")


class Command(gdb.Command):
    """What gdb cannot do for a command is an error with a text, not an exception of Python's."""
    def invoke(self, argument, from_tty):
        try:
            self.do(argument.strip())
        except gdb.MemoryError as error:
            raise gdb.GdbError(f"bulkhead: {error}: is the core file whole?" if is_core_file()
                               else f"bulkhead: {error}") from error
        except (gdb.error, OSError) as error:
            raise gdb.GdbError(f"bulkhead: {error}") from error


class Actors(Command):
    """List the live actors: bulkhead actors [MOST]

One a line, at most 1000, or MOST: pid, state, core, length of the queue, class, and what those that
are blocked or stuck are in, of the library or of the system, and from which function of yours."""
    def __init__(self):
        super().__init__("bulkhead actors", gdb.COMMAND_STACK)

    @staticmethod
    def do(argument):
        if argument and not re.fullmatch(r"[1-9]\d*", argument):
            raise gdb.GdbError(f"bulkhead: '{argument}' is no number of actors")
        require_process()
        most = int(argument) if argument else MOST_SHOWN
        row = "{:<16} {:<16} {:>5} {:>6}  {:<32} {}"
        counts = [0] * len(TURNS)
        shown = lacking = 0
        layout = Layout()
        threads = stack_pointers()
        print(row.format("pid", "state", "core", "queue", "class", "blocked in").rstrip())
        for actor in live_actors(layout):
            counts[actor.turn] += 1
            if shown < most:
                shown += 1
                core = actor.home if actor.home != NO_CORE else "-"
                where = where_blocked(actor, threads)
                if actor.lacks_stack:
                    lacking += 1
                    where = f"{where} ({no_stack()})".lstrip()
                print(row.format(actor.pid, actor.state, core, actor.length, actor.class_name,
                                 where).rstrip())
        total = sum(counts)
        kinds = ", ".join(f"{count} {TURNS[turn]}" for turn, count in enumerate(counts) if count)
        print(f"{total} actors" + (f": {kinds}" if total else "")
              + (f"; {total - shown} not shown (bulkhead actors {total} shows all)"
                 if shown < total else ""))
        if lacking > 0:
            print(f"The stacks of {lacking} are not there{advice()}.")


class Backtrace(Command):
    """Show the backtrace of an actor: bulkhead bt PID [full]

PID is <3.1>, 3.1, or 3 for whoever lives there now. With full, also its local variables. Other
options of gdb's bt may follow as well, such as a number of frames."""
    def __init__(self):
        super().__init__("bulkhead bt", gdb.COMMAND_STACK)

    def do(self, argument):
        words = argument.split()
        if not words:
            raise gdb.GdbError("bulkhead: bt wants a pid: bulkhead bt <3.1>")
        require_process()
        layout = Layout()
        actor = find_actor(layout, words[0])
        options = " ".join(words[1:])
        print(f"actor {actor.pid}, {actor.class_name}: {actor.state}, on core {actor.home}, "
              f"{actor.length} in its queue")
        if actor.is_running or actor.turn == AWAY:
            self.show_running(actor, options)
        elif actor.stack == 0:
            print("It is not in a handler, and has no stack.")
        elif actor.lacks_stack:
            print(sentence(no_stack() + advice()))
        else:
            with On(actor):
                print(without_first(backtrace(one_more(options))), end="")

    @staticmethod
    def show_running(actor, options):
        thread = thread_of(actor, stack_pointers())
        if actor.lacks_stack:
            if thread is not None:
                with Selected(thread):
                    where = ", in ".join(filter(None, (named(thread), place_in(innermost()))))
                print(f"It runs on {where}.")
            print(sentence(no_stack() + advice()))
            return
        if thread is None:
            raise gdb.GdbError(f"bulkhead: {actor.pid} runs, but its thread was not found")
        with Selected(thread):
            print(f"It runs on {named(thread)}.")
            print(backtrace(options), end="")


def named(thread):
    """Threads of core files have no names."""
    return f"thread {thread.num} ({thread.name or f'LWP {thread.ptid[1]}'})"


def sentence(text):
    return text[0].upper() + text[1:] + "."


class Selected:
    """with Selected(thread): it is the one that gdb works with."""
    def __init__(self, thread):
        self.thread = thread
        self.before = gdb.selected_thread()

    def __enter__(self):
        self.thread.switch()

    def __exit__(self, *_):
        self.before.switch()


def stack_pointers():
    """Of each thread: (stack pointer, thread)."""
    found = []
    with Selected(gdb.selected_thread()):
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            sp = gdb.newest_frame().read_register(frame_layout()["sp"])
            found.append((int(sp), thread))
    return found


def thread_of(actor, threads):
    """The thread whose stack pointer lies in the stack that the actor's core runs on; or, when the
    core has gone on without the actor, in the actor's."""
    try:
        top = actor.running_on
        if top == 0:
            return None
        low = top - actor.layout.stack_size(top)
    except (gdb.error, gdb.MemoryError):
        return None
    return next((thread for sp, thread in threads if low - 65536 <= sp <= top), None)


def core_at(index):
    """The address of a core, from the process's table of cores; 0 when there is none."""
    table = gdb.parse_and_eval(
        "(unsigned long)&'bulkhead::core::(anonymous namespace)::core_table'")
    return number_at(int(table) + 8 * index)


def without_first(text):
    """A backtrace without its frame 0, if that is in it, the others numbered from 0 on."""
    lines = text.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if re.match(r"#[1-9]", line)), len(lines))
    return "".join(re.sub(r"^#(\d+)( *)", lambda m: f"#{int(m[1]) - 1}".ljust(len(m[0])), line)
                   for line in lines[start:])


def one_more(options):
    """For a backtrace whose frame 0 is not shown: a number of innermost frames is one more."""
    return re.sub(r"(?<!\S)[1-9]\d*(?!\S)", lambda match: str(int(match[0]) + 1), options)


class Gcore(Command):
    """Write a core file with the actors' stacks in it: bulkhead gcore FILE

gdb's own gcore gives up on the rest of a mapping at the first address that it cannot read, and
below each stack there is a guard that nobody can read."""

    def __init__(self):
        super().__init__("bulkhead gcore", gdb.COMMAND_STACK, gdb.COMPLETE_FILENAME)

    @staticmethod
    def do(argument):
        if not argument:
            raise gdb.GdbError("bulkhead: gcore wants the name of a file")
        require_process()
        layout = Layout()
        gdb.execute(f"gcore {argument}", to_string=True)
        with open(os.path.expanduser(argument), "r+b") as core:
            segments = load_segments(core)
            written = sum(copy_into(core, segments, first, end)
                          for first, end in stack_ranges(layout))
        print(f"{argument}: {written} stacks of actors and cores are in it")


def stack_ranges(layout):
    """What is used of the stacks that cores run on and of those that were left."""
    record = layout.stack_type.sizeof
    def whole(top):
        return top + record - layout.stack_size(top), top + record
    for index in range(1024):
        core = core_at(index)
        if core == 0:
            break
        top = number_at(core + layout.core_stack)
        if top != 0:
            yield whole(top)
    for actor in live_actors(layout):
        if actor.turn == AWAY:
            yield whole(actor.stack)
        elif actor.stack != 0:
            yield actor.saved, actor.stack + record


def load_segments(core):
    """(address, bytes, offset) of what a core file of a 64-bit little-endian machine holds."""
    core.seek(0)
    header = core.read(64)
    if header[:6] != b"\x7fELF\x02\x01":
        raise gdb.GdbError("bulkhead: gcore wrote something else than a 64-bit little-endian file")
    table, = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    segments = []
    for i in range(count):
        core.seek(table + i * size)
        kind, _, offset, address, _, length, _, _ = struct.unpack("<IIQQQQQQ", core.read(56))
        if kind == 1:  # PT_LOAD
            segments.append((address, length, offset))
    return segments


def copy_into(core, segments, first, end):
    for address, length, offset in segments:
        if address <= first and end <= address + length:
            core.seek(offset + first - address)
            core.write(gdb.selected_inferior().read_memory(first, end - first))
            return 1
    return 0


Bulkhead()
Actors()
Backtrace()
Gcore()
