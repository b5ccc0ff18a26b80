"""What gets installed: the wheel, its library, and a fresh environment with nothing else in it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from heapglass.cli.main import COMMANDS
from heapglass.recording import open_recording

ROOT = Path(__file__).parent.parent.parent
ALLOCATOR = {
    *("malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "posix_memalign"),
    *("aligned_alloc", "memalign", "valloc", "pvalloc", "malloc_usable_size"),
    *("free_sized", "free_aligned_sized"),
}
# operator new and delete in all their forms: see native/src/operators.c
OPERATORS = {
    f"_Z{what}{align}{tag}"
    for what in ("nwm", "nam", "dlPv", "daPv")
    for align in ("", "St11align_val_t")
    for tag in ("", "RKSt9nothrow_t")
} | {f"_Z{what}m{align}" for what in ("dlPv", "daPv") for align in ("", "St11align_val_t")}
WAYS_OUT = {
    *("execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe"),
    *("execveat", "fexecve", "_exit", "_Exit", "abort", "__assert_fail"),
}
# What narrows what a program may do, and so what we may.
NARROWER = {"setrlimit", "setrlimit64", "prlimit", "prlimit64", "mlockall", "prctl", "syscall"}
# For which our thread must end for a moment: see native/src/namespaces.c
ALONE = {"unshare", "setns"}
# What shows or sets SIGBUS, and what starts programs that inherit it: see native/src/signalling.c
SIGNALLING = {
    *("sigaction", "__sigaction", "signal", "bsd_signal", "ssignal", "sysv_signal"),
    *("__sysv_signal", "sigset", "sigignore", "siginterrupt"),
    *("posix_spawn", "posix_spawnp", "system", "popen"),
}
# What programs written for our forerunners look up.
FORERUNNERS = {
    *("malloc_stat_get_stat", "malloc_stat_get_version", "malloc_stat_set_log_fd"),
    *("malloc_stat_change_log_state", "ht_register_stack_location_hint"),
}


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=True
    )


def output_of(*command: str | Path) -> str:
    return run(*command).stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built by pip from a copy without anything left by earlier builds."""
    directory = tmp_path_factory.mktemp("wheel")
    source = directory / "source"
    files = ["pyproject.toml", "hatch_build.py", "LICENSE", "native", "src", "docs", "tools"]
    files += [path.name for path in ROOT.glob("*.md")]
    archive = subprocess.run(
        ["tar", "-C", ROOT, "--exclude=_native", "--exclude=__pycache__", "-cf", "-", *files],
        capture_output=True,
        check=True,
    )
    source.mkdir()
    subprocess.run(["tar", "-C", source, "-xf", "-"], input=archive.stdout, check=True)
    output_of(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--no-cache-dir", "--wheel-dir", directory, source),
    )
    (built,) = directory.glob("*.whl")
    return built


@pytest.fixture(scope="module", params=["with make", "with a compiler only"])
def shipped(
    request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The library, built in both ways."""
    directory = tmp_path_factory.mktemp("shipped")
    if request.param == "with a compiler only":
        hook = runpy.run_path(str(ROOT / "hatch_build.py"))
        hook["_compile"](ROOT / "native", directory)
        return directory / "libheapglass.so"
    with zipfile.ZipFile(wheel) as archive:
        driver = Path(archive.extract("heapglass/_native/driver", directory))
        mode = archive.getinfo("heapglass/_native/driver").external_attr >> 16
        driver.chmod(mode & 0o777)  # as pip does, and zipfile does not
        return Path(archive.extract("heapglass/_native/libheapglass.so", directory))


def test_one_wheel_serves_every_python(wheel: Path) -> None:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    assert wheel.name.endswith(f"-py3-none-{platform}.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/WHEEL"))
        text = archive.read(name).decode()
    assert "Root-Is-Purelib: false" in text
    assert f"Tag: py3-none-{platform}" in text


def test_wheel_holds_the_package_and_its_native_part(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "heapglass/cli/suppressions/builtin.supp" in names
    native = {name for name in names if name.startswith("heapglass/_native/")}
    assert native == {
        "heapglass/_native/libheapglass.so",
        "heapglass/_native/driver",
        "heapglass/_native/include/heapglass.h",
        "heapglass/_native/include/format.h",
        "heapglass/_native/include/malloc-stat/api.h",
    }
    sources = {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "heapglass").rglob("*.py")
    }
    assert sources <= names
    assert "heapglass/py.typed" in names
    others = {name for name in names if ".dist-info" not in name and name[:10] != "heapglass/"}
    (data,) = {name.split("/")[0] for name in others}
    assert data.endswith(".data")
    pages = {"heapglass.1", *(f"heapglass-{command}.1" for command in COMMANDS)}
    assert others == {f"{data}/data/share/man/man1/{page}" for page in pages}


def test_library_shows_only_what_it_replaces(shipped: Path) -> None:
    symbols = output_of("nm", "--dynamic", "--defined-only", shipped).splitlines()
    names = {line.split()[-1].split("@")[0] for line in symbols}
    assert {
        name for name in names if not name.startswith("heapglass_")
    } == ALLOCATOR | OPERATORS | WAYS_OUT | NARROWER | ALONE | SIGNALLING | FORERUNNERS


def test_library_needs_nothing_but_the_c_library(shipped: Path) -> None:
    dynamic = output_of("readelf", "--dynamic", "--wide", shipped)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    assert needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}
    assert "[libheapglass.so]" in dynamic
    assert "TEXTREL" not in dynamic


def test_library_is_bound_before_the_first_allocation(shipped: Path) -> None:
    """A lazy binding, or a thread-local word made on first use, would allocate inside malloc."""
    assert re.search(r"FLAGS.*\bNOW\b", output_of("readelf", "--dynamic", "--wide", shipped))
    undefined = output_of("nm", "--dynamic", "--undefined-only", shipped)
    assert "__tls_get_addr" not in undefined
    assert "Py" not in undefined


def test_library_tells_nothing_about_the_machine_it_was_built_on(shipped: Path) -> None:
    assert str(ROOT).encode() not in shipped.read_bytes()
    assert b"/tmp/" not in shipped.read_bytes().replace(b"/tmp/%e", b"")


def test_driver_comes_along_and_runs(shipped: Path) -> None:
    driver = shipped.parent / "driver"
    line = output_of(driver, "work", "10", "1", "malloc:2:64")
    assert re.fullmatch(r"malloc:2:64 \d+\.\d+\n", line)
    assert str(ROOT).encode() not in driver.read_bytes()


def test_library_records(shipped: Path, tmp_path: Path) -> None:
    environment = {"LD_PRELOAD": str(shipped), "HEAPGLASS_OUT": str(tmp_path / "ls.heapglass")}
    subprocess.run(["/bin/ls", "/"], env=environment, capture_output=True, check=True)
    assert open_recording(tmp_path / "ls.heapglass").totals.allocations > 0


def test_sources_include_no_python() -> None:
    for path in (ROOT / "native").rglob("*.[ch]"):
        assert "Python.h" not in path.read_text(), path


def test_fresh_environment_records_without_any_dependency(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    output_of(
        *(sys.executable, "-m", "pip", f"--python={tmp_path / 'venv'}", "install", "--quiet"),
        *("--no-deps", "--no-index", wheel),
    )
    heapglass = tmp_path / "venv" / "bin" / "heapglass"
    assert str(tmp_path) in output_of(heapglass, "lib")
    done = run(heapglass, "run", "ls", "-d", "/", cwd=tmp_path)
    assert done.stdout == "/\n"
    assert re.search(r"ls \(\d+\) ran .*: \d+ allocations, ", done.stderr)
    assert len(list(tmp_path.glob("ls.*.heapglass"))) == 1
    shown = manual_page(tmp_path / "venv" / "share" / "man", "heapglass-run")
    assert re.search(
        r"^NAME\n +heapglass-run - run a program and record its allocations$", shown, re.MULTILINE
    )
    assert "--leaks-to FILE" in shown
    shown = manual_page(tmp_path / "venv" / "share" / "man", "heapglass-include")
    assert "heapglass-lib, heapglass-include - print the path" in " ".join(shown.split())


def manual_page(directory: Path, name: str) -> str:
    """As man shows it, which has nothing to complain of."""
    environment = {"MANWIDTH": "80", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["man", "--warnings=all", "-M", directory, name],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout
