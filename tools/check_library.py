#!/usr/bin/env python3
"""Read a built libheapglass.so and hold it against what the core promises its host.

    tools/check_library.py [LIBRARY]

Exports, imports, thread-local storage, what it needs and how it is linked are read from LIBRARY
with binutils. The sizes of stack frames come from a build of native/ made for this, which is also
the library that is read when none is named. Prints one line per broken promise and exits with 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "native"

LARGEST_TLS = 64
LARGEST_FRAME = 2048
LARGEST_HOT_FRAME = 256

# The files whose functions run on every event; the rest run once a process, thread or module.
HOT_NAMES = (
    "hooks slow light told recorder sampled sampler filter tally"
    " recall locate path_index transcript walk stacks sites peak ledger large table"
)
HOT_FILES = frozenset(f"{name}.c" for name in HOT_NAMES.split())

# Arguments of execl and its kin become an array on the stack, as in libc.
UNBOUNDED = frozenset({"execl", "execle", "execlp"})

NEEDED = ("libc.so.6", "libdl.so.2", "libc.musl-*.so.1", "ld-linux-*.so.*", "ld-musl-*.so.1")

# Every name the library may ask of others, and why that is safe inside somebody's malloc().
IMPORTS = {
    "memcpy": "what compilers make of copies; pure",
    "memmove": "likewise",
    "memset": "likewise",
    "memcmp": "likewise",
    "bcmp": "likewise",
    "strlen": "what compilers make of loops; pure",
    "environ": "a variable, read at start and by exec*",
    "__environ": "likewise",
    "__errno_location": "the address of errno, which exec* and the arena set",
    "clock_gettime": "until, or where, the kernel's own clock function is not found",
    "getauxval": "reads what the kernel gave at start; no lock",
    "__rseq_offset": "weak: where the kernel says that a thread left its processor (clock.c)",
    "__rseq_size": "weak: whether it does",
    "dlsym": "once, to find the next allocator; what it allocates the arena serves",
    "dlerror": "once at start, to forget what was not found",
    "dladdr": "once at start, to learn the allocator's and the library's own file",
    "dladdr1": "once at start, weak: where our exported symbols stand (operators.c)",
    "dl_iterate_phdr": "at start, and where _dl_find_object is missing: never in a hook else",
    "_dl_find_object": "lock-free",
    "_r_debug": "a variable of the dynamic loader",
    "gnu_get_libc_version": "a constant, to know the C library",
    "on_exit": "once, to be called when the program ends",
    "__cxa_at_quick_exit": "likewise, when it ends by quick_exit",
    "__register_atfork": "likewise, when it forks (leaving.c)",
    "__cxa_finalize": "called by the startup code of every shared object when it is unloaded",
    "__gmon_start__": "named by the startup code; nobody has it",
    "_ITM_deregisterTMCloneTable": "likewise",
    "_ITM_registerTMCloneTable": "likewise",
}

# Relocations that make the thread-local words reachable only through a call that may allocate.
DYNAMIC_TLS = re.compile(r"R_\w+_(DTPMOD|DTPOFF|TLSDESC|TLS_DTP)\w*")

# A jump out of a function with the address of the function's own frame among the arguments.
OWN_FRAME = "mov    %rsp,%rbp"
TAIL_CALL = re.compile(r"jmp +[0-9a-f]+ <([^+>]+)")
TRANSFER = re.compile(r"(j\w+|call|ret)\b")
# A hook in another one's place must be jumped to: called, it would find that one's frame.
ALLOCATING = ["malloc", "calloc", "aligned_alloc", "memalign", "valloc", "pvalloc"]
HOOKS = [*ALLOCATING, "posix_memalign", "realloc", "free"]


def names(prefixes: str, hooks: Iterable[str]) -> frozenset[str]:
    return frozenset(prefix + hook for prefix in prefixes.split() for hook in hooks)


STAND_INS = (
    names("exact_ hg_slow_ hg_watched_", HOOKS)
    | names("hg_crowd_ hg_careful_", [*ALLOCATING, "free"])
    | names("shared_ classed_ other_ hg_told_", ["malloc", "calloc", "free"])
    | names("hg_paused_ hg_off_", ["free", "realloc"])
    | names("record_ free_", ["generally", "entered"])
    | names("hg_light_", ["posix_memalign", "realloc"])
    | {"hg_free", "free_from_peak"}
)
# Those of a mode stand in tables.
CALL_BY_MODE = re.compile(r"call +\*.*,8\)")
CALL = re.compile(r"call +[0-9a-f]+ <([^+>]+)>")
FRAME_ARGUMENT = re.compile(r"mov +%rbp,%(rdi|rsi|rdx|rcx|r8|r9)$")


@dataclass(frozen=True, slots=True)
class Frame:
    """What one function keeps on the stack, as the compiler reports it."""

    file: str
    function: str
    size: int
    bounded: bool


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library: Path, selection: str) -> set[str]:
    """The dynamic symbols that are defined, or that are not, without their versions."""
    lines = output_of("nm", "--dynamic", selection, "--format=posix", str(library)).splitlines()
    return {line.split()[0].split("@")[0] for line in lines}


def promised_exports(version_script: Path) -> set[str]:
    """The names, some of them patterns, between `global:` and `local:`."""
    text = re.sub(r"/\*.*?\*/", "", version_script.read_text(), flags=re.DOTALL)
    section = re.search(r"global:(.*?)local:", text, flags=re.DOTALL)
    if section is None:
        raise SystemExit(f"{version_script}: no global names")
    return {name.strip() for name in section[1].split(";") if name.strip()}


def check_exports(library: Path) -> Iterator[str]:
    promised = promised_exports(NATIVE / "exports.map")
    exported = symbols(library, "--defined-only")
    for name in sorted(exported):
        if not any(fnmatchcase(name, pattern) for pattern in promised):
            yield f"exports {name}, which exports.map does not name"
    for name in sorted(promised - exported):
        if "*" not in name:
            yield f"does not export {name}"


def check_imports(library: Path) -> Iterator[str]:
    for name in sorted(symbols(library, "--undefined-only") - IMPORTS.keys()):
        yield f"calls or reads {name}, which is not among the imports allowed"


def check_thread_local(library: Path) -> Iterator[str]:
    for name in sorted({match[0] for match in DYNAMIC_TLS.finditer(relocations(library))}):
        yield f"reaches thread-local words through a call ({name})"
    segment = re.search(r"^ *TLS +(?:\S+ +){4}(\S+)", segments(library), flags=re.MULTILINE)
    size = int(segment[1], 16) if segment else 0
    if size > LARGEST_TLS:
        yield f"takes {size} bytes of each thread's static storage, more than {LARGEST_TLS}"


def relocations(library: Path) -> str:
    return output_of("readelf", "--relocs", "--wide", str(library))


def segments(library: Path) -> str:
    return output_of("readelf", "--program-headers", "--wide", str(library))


def check_linking(library: Path) -> Iterator[str]:
    dynamic = output_of("readelf", "--dynamic", "--wide", str(library))
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if not any(fnmatchcase(name, pattern) for pattern in NEEDED):
            yield f"needs {name}"
    if not re.search(r"\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW|\(BIND_NOW\)", dynamic):
        yield "is bound lazily: the loader would run inside a hook"
    for name in re.findall(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic):
        yield f"has a {name}"
    headers = segments(library)
    if "GNU_RELRO" not in headers:
        yield "has tables of addresses that stay writable (no RELRO)"
    stack = re.search(r"GNU_STACK +(?:\S+ +){5}(.*) 0x", headers)
    if stack is None or "E" in stack[1]:
        yield "asks for an executable stack"


def functions(library: Path) -> Iterator[tuple[str, list[str]]]:
    """The name and the instructions of every function."""
    code = output_of("objdump", "--disassemble", "--no-show-raw-insn", str(library))
    for part in code.split("\n\n"):
        head, *lines = part.strip().splitlines()
        if head.endswith(">:"):
            yield (
                head.split("<")[-1].removesuffix(">:"),
                [line.split("\t", 1)[-1] for line in lines],
            )


def gives_frame_away(name: str, instructions: list[str]) -> bool:
    """Whoever is jumped to would read the caller's registers from a frame that is gone."""
    if OWN_FRAME not in instructions:
        return False
    has_frame = False
    for line in instructions:
        jump = TAIL_CALL.match(line)
        if jump and has_frame and jump[1] not in {name, f"{name}.cold"}:
            return True
        if TRANSFER.match(line):
            has_frame = False
        elif FRAME_ARGUMENT.match(line):
            has_frame = True
    return False


def check_jumps(library: Path) -> Iterator[str]:
    for name, instructions in functions(library):
        calls = (CALL.match(line) for line in instructions)
        for callee in sorted({call[1] for call in calls if call} & STAND_INS):
            yield f"{name} calls {callee}, which must be jumped to"
        if any(CALL_BY_MODE.match(line) for line in instructions):
            yield f"{name} calls what stands in a table, which must be jumped to"


def check_code(library: Path) -> Iterator[str]:
    for name, instructions in functions(library):
        # A trap is abort() by another name.
        if any(re.match(r"(ud2|brk|int3)\b", line) for line in instructions):
            yield f"would stop the program with a trap in {name}"
        if gives_frame_away(name, instructions):
            yield f"{name} gives its frame away and leaves before it is read"


def read_frames(directory: Path) -> Iterator[Frame]:
    """The compiler's *.su: `file:line:column:function<tab>bytes<tab>qualifiers`."""
    for file in sorted(directory.rglob("*.su")):
        for line in file.read_text().splitlines():
            place, size, qualifiers = line.split("\t")
            bounded = "dynamic" not in qualifiers or "bounded" in qualifiers
            path, _, _, function = place.split(":", 3)
            yield Frame(Path(path).name, function, int(size), bounded)


def check_frames(frames: list[Frame]) -> Iterator[str]:
    for frame in frames:
        limit = LARGEST_HOT_FRAME if frame.file in HOT_FILES else LARGEST_FRAME
        who = f"{frame.file}: {frame.function}()"
        if frame.size > limit:
            yield f"{who} takes {frame.size} bytes of stack, over {limit}"
        if not frame.bounded and frame.function not in UNBOUNDED:
            yield f"{who} takes no fixed number of bytes of stack"
    for name in sorted(HOT_FILES - {frame.file for frame in frames}):
        yield f"no stack frames are known of {name}"


def build(directory: Path) -> Path:
    """Build the library as native/Makefile does, with the sizes of its stack frames beside it."""
    command = ["make", "-s", "-C", str(NATIVE), f"OUT={directory}/out", f"BUILD={directory}/build"]
    subprocess.run([*command, "CFLAGS=-fstack-usage"], check=True, stdout=subprocess.DEVNULL)
    return directory / "out" / "libheapglass.so"


def check_library(library: Path) -> Iterator[str]:
    for check in CHECKS:
        yield from check(library)


CHECKS = (
    check_exports,
    check_imports,
    check_thread_local,
    check_linking,
    check_code,
    check_jumps,
)


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or (arguments and not Path(arguments[0]).is_file()):
        print(f"usage: {Path(__file__).name} [LIBRARY]", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        built = build(Path(temporary))
        library = Path(arguments[0]) if arguments else built
        problems = [*check_library(library), *check_frames([*read_frames(Path(temporary))])]
    for problem in problems:
        print(f"libheapglass.so: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
