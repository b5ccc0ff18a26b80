from __future__ import annotations

import errno
import os
import struct
import subprocess
from pathlib import Path

import pytest

from heapglass.errors import LaunchError
from heapglass.launch import program
from heapglass.launch.program import Program, find_program

DYNAMIC = "/bin/true"


def script(directory: Path, text: str, name: str = "script") -> str:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def compiled(directory: Path, source: str, *flags: str) -> str:
    path = directory / "compiled"
    command = ["cc", "-x", "c", "-", "-o", str(path), *flags]
    subprocess.run(command, input=source, text=True, check=True)
    return str(path)


def found(*command: str, path: str | None = os.environ["PATH"]) -> Program:
    return find_program(command, path)


def test_ordinary_program_needs_no_note() -> None:
    assert found(DYNAMIC, "x") == Program(DYNAMIC, (DYNAMIC, "x"), (), DYNAMIC, "true")


def test_name_is_searched_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for directory in (first, second):
        directory.mkdir()
        (directory / "tool").symlink_to(DYNAMIC)
    assert found("tool", path=f"{first}:{second}").path == f"{first}/tool"
    (first / "tool").unlink()
    (first / "tool").mkdir()
    assert found("tool", path=f"{first}:{second}").path == f"{second}/tool"
    assert found("tool", path=f"{first}:{second}").argv == ("tool",)


def test_empty_entry_is_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").symlink_to(DYNAMIC)
    monkeypatch.chdir(tmp_path)
    assert found("tool", path="/nowhere:").path == "./tool"


def test_without_path_the_systems_directories_are_searched() -> None:
    assert found("true", path=None).path == "/bin/true"


@pytest.mark.parametrize("name", ["no-such-program", "./no-such-program"])
def test_missing_program_is_127(name: str) -> None:
    with pytest.raises(LaunchError, match=r"program: (command not found|no such file)") as e:
        found(name)
    assert e.value.exit_code == 127


def test_program_that_cannot_be_executed_is_126(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    for name, reason in ((str(plain), "is not executable"), (str(tmp_path), "is a directory")):
        with pytest.raises(LaunchError, match=reason) as caught:
            found(name)
        assert caught.value.exit_code == 126
    with pytest.raises(LaunchError, match="is not executable"):
        found("plain", path=str(tmp_path))


def test_script_is_recorded_as_its_interpreter(tmp_path: Path) -> None:
    path = script(tmp_path, "#!/bin/sh\n")
    note = f"{path} is a script: what is recorded is its interpreter, /bin/sh"
    assert found(path) == Program(path, (path,), (note,), "/bin/sh", "script")


def test_interpreter_behind_env_is_found(tmp_path: Path) -> None:
    (tmp_path / "interpreter").symlink_to(DYNAMIC)
    path = script(tmp_path, "#!/usr/bin/env -S NAME=value interpreter -x\n")
    behind = found(path, path=str(tmp_path))
    assert (behind.recorded_as, behind.name) == (f"{tmp_path}/interpreter", "interpreter")
    env = found(path, path="/nowhere")
    assert (env.recorded_as, env.name) == ("/usr/bin/env", "script")


def test_a_link_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "server").symlink_to(DYNAMIC)
    assert found("server", path=str(tmp_path)).name == "server"


def test_interpreters_interpreter_is_looked_at(tmp_path: Path) -> None:
    inner = script(tmp_path, "#!/bin/sh\n", "inner")
    assert found(script(tmp_path, f"#!{inner}\n")).recorded_as == "/bin/sh"


def test_script_that_interprets_itself_ends(tmp_path: Path) -> None:
    path = script(tmp_path, f"#!{tmp_path}/script\n")
    assert found(path).recorded_as == ""


def test_text_without_interpreter_goes_to_the_shell(tmp_path: Path) -> None:
    path = script(tmp_path, "exit 3\n")
    result = found(path, "x")
    assert (result.path, result.argv) == ("/bin/sh", ("/bin/sh", path, "x"))
    assert "has no #! line" in result.notes[0]


def test_static_program_is_told(tmp_path: Path) -> None:
    path = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    result = found(path)
    assert result.recorded_as == ""
    assert result.notes[0].startswith(f"{path} is statically linked: nothing in it can be seen")


def test_static_interpreter_is_told(tmp_path: Path) -> None:
    interpreter = compiled(tmp_path, "int main(void) { return 0; }", "-static")
    result = found(script(tmp_path, f"#!{interpreter}\n"))
    assert len(result.notes) == 2
    assert result.notes[1].startswith(f"{interpreter} is statically linked")


def test_own_malloc_is_told(tmp_path: Path) -> None:
    source = "void *malloc(unsigned long n) { return (void *)n; } int main(void) { return 0; }"
    path = compiled(tmp_path, source, "-rdynamic", "-fno-builtin")
    result = found(path)
    assert "defines its own malloc" in result.notes[0]
    assert result.recorded_as == path


@pytest.mark.parametrize(
    ("bits", "machine", "words"), [(1, 3, "32-bit i386"), (2, 183, "64-bit aarch64")]
)
def test_foreign_program_is_told(tmp_path: Path, bits: int, machine: int, words: str) -> None:
    if bits == 1:
        rest = struct.pack("<HHIIIIIHHHHHH", 2, machine, 1, 0, 0, 0, 0, 52, 32, 0, 40, 0, 0)
    else:
        rest = struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
    path = tmp_path / "foreign"
    path.write_bytes(b"\x7fELF" + bytes([bits, 1, 1]) + bytes(9) + rest)
    path.chmod(0o755)
    result = found(str(path))
    assert f"is a {words} program" in result.notes[0]
    assert result.recorded_as == ""


def test_dynamic_program_of_another_processor_is_spared_the_library(tmp_path: Path) -> None:
    path = compiled(tmp_path, "void _start(void) {}", "-m32", "-nostdlib", "-pie")
    result = found(path)
    (note,) = result.notes
    assert note == (
        f"{path} is a 32-bit i386 program, which cannot load the library: "
        "neither it nor what it starts can be recorded"
    )
    assert (result.recorded_as, result.bears_library) == ("", False)


def test_static_program_of_another_processor_bears_the_library(tmp_path: Path) -> None:
    """It has no loader to complain, and its children may be recorded."""
    result = found(compiled(tmp_path, "void _start(void) {}", "-m32", "-nostdlib", "-static"))
    assert "is a 32-bit i386 program: the library cannot" in result.notes[0]
    assert (result.recorded_as, result.bears_library) == ("", True)


def test_program_that_needs_address_sanitizer_is_spared_the_library(tmp_path: Path) -> None:
    path = compiled(tmp_path, "int main(void) { return 0; }", "-fsanitize=address")
    result = found(path)
    (note,) = result.notes
    assert note == (
        f"{path} needs AddressSanitizer's library, which must be loaded first: "
        "neither it nor what it starts can be recorded"
    )
    assert (result.recorded_as, result.bears_library) == ("", False)


@pytest.mark.parametrize(
    "preload", ["libasan.so.8", "/a.so:/lib/libclang_rt.asan-x86_64.so", "/a.so libasan.so"]
)
def test_preloaded_address_sanitizer_is_not_put_behind_the_library(
    tmp_path: Path, preload: str
) -> None:
    for path in (DYNAMIC, script(tmp_path, "exit 3\n")):
        result = find_program((path,), None, preload)
        assert "gets AddressSanitizer's library, which must be first" in result.notes[-1]
        assert (result.recorded_as, result.bears_library) == ("", False)


@pytest.mark.parametrize("preload", [None, "", "libtsan.so.2:liblsan.so.0"])
def test_other_preloaded_libraries_are_no_obstacle(preload: str | None) -> None:
    assert find_program((DYNAMIC,), None, preload) == Program(
        DYNAMIC, (DYNAMIC,), (), DYNAMIC, "true"
    )


def test_binary_that_is_no_elf_is_told(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"\0\1\2\3" * 100)
    path.chmod(0o755)
    assert "is not an ELF program" in found(str(path)).notes[0]


@pytest.mark.parametrize(("mode", "word"), [(0o4755, "setuid"), (0o2755, "setgid")])
def test_gained_privilege_is_told(
    tmp_path: Path, mode: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tool"
    path.write_bytes(Path(DYNAMIC).read_bytes())
    path.chmod(mode)
    monkeypatch.setattr(program, "_ST_NOSUID", 0)  # wherever the tests' files are
    assert found(str(path)).notes == ()  # ours already: nothing is gained
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setattr(os, "getgid", lambda: path.stat().st_gid + 1)
    assert f"is {word}: the loader ignores LD_PRELOAD" in found(str(path)).notes[0]


def test_a_file_system_without_capabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> list[str]:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "listxattr", refuse)
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert found(DYNAMIC).notes == ()


def test_file_capabilities_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listxattr", lambda _: ["security.capability"])
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert found(DYNAMIC).notes == ()
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert "has file capabilities" in found(DYNAMIC).notes[0]


def test_mount_that_grants_no_privilege_needs_no_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tool"
    path.write_bytes(Path(DYNAMIC).read_bytes())
    path.chmod(0o4755)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    monkeypatch.setattr(program, "_ST_NOSUID", ~0)
    assert found(str(path)).notes == ()
