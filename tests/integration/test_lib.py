"""`heapglass lib` and `heapglass include`: the library and its header without the launcher."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import heapglass
from harness.cli import Cli, bare, only
from heapglass.recording.glance import glance


def test_library_works_without_the_launcher(cli: Cli) -> None:
    library = cli("lib").stdout.rstrip("\n")
    bare("ls", cwd=cli.directory, env=cli.environment({"LD_PRELOAD": library}))
    assert glance(only(cli.recordings())).state == "exited"


def test_library_in_an_awkward_directory_is_loaded(cli: Cli, tmp_path: Path) -> None:
    """LD_PRELOAD cannot hold a blank, and a strict stdout no stray byte."""
    copy = tmp_path / "my project \udcff" / "heapglass"
    shutil.copytree(Path(heapglass.__file__).parent, copy)
    changes = {"PYTHONPATH": str(copy.parent)}
    assert cli("run", "-q", "ls", environment=changes).stderr == ""
    assert len(cli.recordings()) == 1
    command = cli.argv("lib")
    done = subprocess.run(command, env=cli.environment(changes), capture_output=True, check=True)
    library = Path(os.fsdecode(done.stdout.rstrip(b"\n")))
    assert library == copy / "_native" / "libheapglass.so"
    shutil.rmtree(f"/tmp/heapglass-{os.getuid()}-{library.stat().st_ino}")


def test_header_is_found_by_a_compiler(cli: Cli) -> None:
    source = (
        "#include <heapglass.h>\n#if HEAPGLASS_VERSION < 100\n#error\n#endif\nint main(void) {}"
    )
    flag = "-I" + cli("include").stdout.rstrip("\n")
    for compiler in (["cc", "-xc"], ["c++", "-xc++"]):
        command = [*compiler, "-", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", flag]
        subprocess.run(command, input=source, text=True, check=True)
