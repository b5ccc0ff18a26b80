"""The built library against its promises (tools/check_library.py), and that check against libraries
that break them. The core's own unit tests are C programs: `make -C native test` runs them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.slow

TOOL = Path(__file__).resolve().parents[3] / "tools" / "check_library.py"


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_library", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_library"] = module
    spec.loader.exec_module(module)
    return module


tool = load_tool()

# A library of one function that keeps all promises but one: exporting what it should.
HARMLESS = (
    '__attribute__((visibility("default"))) void *malloc(unsigned long n) { return (void *)n; }'
)
STRICT = ("-Wl,-z,now", "-Wl,-z,relro", "-Wl,-z,noexecstack", "-nostartfiles")


def build(directory: Path, source: str, *options: str) -> Path:
    file = directory / "library.c"
    file.write_text(source)
    library = directory / "library.so"
    command = ["cc", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-builtin"]
    subprocess.run([*command, "-o", str(library), str(file), *options], check=True)
    return library


def problems(library: Path) -> str:
    return "\n".join(tool.check_library(library))


def test_the_library_keeps_its_promises(library: str) -> None:
    result = subprocess.run(
        [sys.executable, str(TOOL), library], check=False, capture_output=True, text=True
    )
    assert (result.stdout, result.returncode) == ("", 0)


def test_every_stand_in_is_there_to_be_checked(library: str) -> None:
    assert {name for name, _ in tool.functions(Path(library))} >= tool.STAND_INS


def test_a_harmless_library_only_lacks_names(tmp_path: Path) -> None:
    found = problems(build(tmp_path, HARMLESS, *STRICT)).splitlines()
    missing = tool.promised_exports(tool.NATIVE / "exports.map") - {"malloc", "heapglass_*"}
    assert found == [f"does not export {name}" for name in sorted(missing)]


EXTRA = '__attribute__((visibility("default"))) int extra;'
STDIO = "int puts(const char *); void f(void) { puts(0); } void *g = f;"
ABORT = "void abort(void); void f(void) { abort(); } void *g = f;"
TAIL_CALL = """
__attribute__((noinline)) static void *inner(void **frame) { return frame[1]; }
__attribute__((visibility("default"))) void *valloc(unsigned long n) {
    return n ? inner(__builtin_frame_address(0)) : 0;
}
"""
STAND_IN = """
__attribute__((noinline)) static void exact_free(void **block) { *block = 0; }
__attribute__((visibility("default"))) void free(void *block) {
    exact_free(block);
    __asm__ volatile("");
}
"""
BY_MODE = """
int mode;
static void *first(unsigned long size) { return (void *)size; }
static void *second(unsigned long size) { return (void *)(size + mode); }
static void *(*const by_mode[])(unsigned long) = {first, second};
__attribute__((visibility("default"))) void *valloc(unsigned long size) {
    void *block = by_mode[mode](size);
    __asm__ volatile("");
    return block;
}
"""
TRAP = "void f(void) { __builtin_trap(); } void *g = f;"
COSINE = "double cos(double); void *g = cos;"
BIG_TLS = "__thread int big[100]; void *f(void) { return big; } void *g = f;"
TLS = "__thread int word; void *f(void) { return &word; } void *g = f;"


@pytest.mark.parametrize(
    ("source", "options", "problem"),
    [
        (EXTRA, STRICT, "exports extra"),
        (STDIO, STRICT, "reads puts"),
        (ABORT, STRICT, "reads abort"),
        (TRAP, STRICT, "with a trap in f"),
        (TAIL_CALL, (*STRICT, "-O2"), "valloc gives its frame away"),
        (STAND_IN, (*STRICT, "-O2"), "free calls exact_free"),
        (BY_MODE, (*STRICT, "-O2"), "valloc calls what stands in a table"),
        (COSINE, (*STRICT, "-lm"), "needs libm.so.6"),
        (BIG_TLS, (*STRICT, "-ftls-model=initial-exec"), "takes 400 bytes"),
        (TLS, (*STRICT, "-ftls-model=global-dynamic"), "through a call"),
        ("", ("-Wl,-z,lazy", "-Wl,-z,relro", "-nostartfiles"), "bound lazily"),
        ("", ("-Wl,-z,now", "-Wl,-z,norelro", "-nostartfiles"), "no RELRO"),
        ("", (*STRICT, "-Wl,-z,execstack"), "executable stack"),
        ("", (*STRICT, "-Wl,-rpath,/lib"), "has a RUNPATH"),
    ],
)
def test_broken_promises_are_named(
    tmp_path: Path, source: str, options: tuple[str, ...], problem: str
) -> None:
    assert problem in problems(build(tmp_path, HARMLESS + "\n" + source, *options))


def test_large_stack_frames_are_named(tmp_path: Path) -> None:
    (tmp_path / "walk.c.su").write_text(
        "src/walk.c:1:2:small\t256\tstatic\n"
        "src/walk.c:3:2:hot\t257\tstatic\n"
        "src/naming.c:4:2:cold\t2048\tdynamic,bounded\n"
        "src/naming.c:5:2:huge\t2049\tstatic\n"
        "src/naming.c:6:2:open\t16\tdynamic\n"
        "src/leaving.c:7:2:execl\t16\tdynamic\n"
    )
    found = list(tool.check_frames(list(tool.read_frames(tmp_path))))
    assert [line for line in found if "no stack frames" not in line] == [
        "walk.c: hot() takes 257 bytes of stack, over 256",
        "naming.c: huge() takes 2049 bytes of stack, over 2048",
        "naming.c: open() takes no fixed number of bytes of stack",
    ]
    assert "no stack frames are known of hooks.c" in found
