"""The cache on disk: used the second time, distrusted when damaged, no harm when impossible."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from heapglass.model import FrameAddress
from heapglass.symbols import module_names
from heapglass.symbols.cache import SymbolCache, default_directory, entry_name
from heapglass.symbols.files import dwarf
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import (
    BIAS,
    build,
    calls_in,
    look_up,
    module_of,
    return_addresses,
    run,
)


def only_entry(directory: Path) -> Path:
    (entry,) = directory.iterdir()
    return entry


def identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


@pytest.fixture
def expected(chain: Path, tmp_path: Path) -> list[tuple[str, int]]:
    """The right answer, with the cache filled by asking for it."""
    found = ask(chain, tmp_path / "cache")
    assert len(found) == 3
    return found


def ask(program: Path, cache: Path) -> list[tuple[str, int]]:
    symbolizer = Symbolizer([module_of(program)], cache)
    found = look_up(symbolizer, calls_in(program, "outer")[0])
    assert symbolizer.warnings == []
    return found


def test_second_time_uses_the_first_one_s_work(
    chain: Path,
    tmp_path: Path,
    expected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = only_entry(tmp_path / "cache")
    assert entry.name.startswith(module_of(chain).build_id)
    before = identity(entry)

    def fail(*_: object) -> None:
        raise AssertionError("converted again")

    monkeypatch.setattr(dwarf, "_convert", fail)
    assert ask(chain, tmp_path / "cache") == expected
    assert identity(only_entry(tmp_path / "cache")) == before


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "text", "longer"])
def test_damaged_entry_is_rebuilt(
    damage: str, chain: Path, tmp_path: Path, expected: list[tuple[str, int]]
) -> None:
    entry = only_entry(tmp_path / "cache")
    whole = entry.read_bytes()
    middle = len(whole) // 2
    entry.write_bytes(
        {
            "flip": whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :],
            "cut": whole[:middle],
            "empty": b"",
            "text": b"hello",
            "longer": whole + b"x",
        }[damage]
    )
    assert ask(chain, tmp_path / "cache") == expected
    assert only_entry(tmp_path / "cache").read_bytes() == whole


def test_entry_that_is_whole_but_no_symcache_is_rebuilt(
    chain: Path, tmp_path: Path, expected: list[tuple[str, int]]
) -> None:
    entry = only_entry(tmp_path / "cache")
    whole = entry.read_bytes()
    SymbolCache(tmp_path / "cache").store(entry.name, b"something else")
    assert entry.read_bytes() != whole
    assert ask(chain, tmp_path / "cache") == expected
    assert entry.read_bytes() == whole


def test_another_version_of_symbolic_does_not_share_entries(
    chain: Path,
    tmp_path: Path,
    expected: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "99.0")
    assert ask(chain, tmp_path / "cache") == expected
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_copy_of_the_same_build_shares_the_entry(
    chain: Path, tmp_path: Path, expected: list[tuple[str, int]]
) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copy(chain, copy)
    assert ask(copy, tmp_path / "cache") == expected
    assert only_entry(tmp_path / "cache")


def test_a_file_without_build_id_has_an_entry_as_long_as_it_stays(tmp_path: Path) -> None:
    program = build("chain.c", tmp_path / "chain", "-g", "-Wl,--build-id=none")
    expected = ask(program, tmp_path / "cache")
    os.utime(program, ns=(0, 1_000_000))
    assert ask(program, tmp_path / "cache") == expected
    assert len(list((tmp_path / "cache").iterdir())) == 2


def many(symbolizer: Symbolizer, program: Path) -> list[list[tuple[str, int]]]:
    addresses = [FrameAddress(a + BIAS, 0) for a in return_addresses(program)]
    found = symbolizer.resolve(addresses)
    return [[(frame.function, frame.line) for frame in found[address]] for address in addresses]


def test_what_was_looked_up_is_not_looked_up_again(
    shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, cache = module_of(shapes), tmp_path / "cache"
    expected = many(Symbolizer([module], cache), shapes)
    assert len(expected) > 16

    def fail(*_: object) -> None:
        raise AssertionError("looked up again")

    monkeypatch.setattr(module_names, "open_symbols", fail)
    assert many(Symbolizer([module], cache), shapes) == expected


def test_kept_names_are_not_used_when_more_could_be_known(shapes: Path, tmp_path: Path) -> None:
    stripped, roots, cache = tmp_path / "shapes", tmp_path / "debug", tmp_path / "cache"
    shutil.copy2(shapes, stripped)
    run("strip", "--strip-debug", stripped)
    module = module_of(stripped)
    before = many(Symbolizer([module], cache, [str(roots)]), shapes)
    target = roots / ".build-id" / module.build_id[:2] / f"{module.build_id[2:]}.debug"
    target.parent.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", shapes, target)
    after = many(Symbolizer([module], cache, [str(roots)]), shapes)
    assert before != after == many(Symbolizer([module_of(shapes)], tmp_path / "other"), shapes)


def test_names_are_not_kept_when_something_stood_in_the_way(
    shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, cache = module_of(shapes), tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "symbolic", None)
        without = many(Symbolizer([module], cache), shapes)
    assert many(Symbolizer([module], cache), shapes) != without


def test_only_the_user_may_look_into_it(tmp_path: Path, expected: list[tuple[str, int]]) -> None:
    assert expected
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE(only_entry(tmp_path / "cache").stat().st_mode) == 0o600


def test_wider_permissions_are_narrowed(chain: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o755)
    ask(chain, cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_impossible_directory_means_no_cache(chain: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert len(ask(chain, tmp_path / "file" / "cache")) == 3


def test_default_directory(chain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_directory() == tmp_path / "xdg" / "heapglass" / "symbols"
    address = FrameAddress(calls_in(chain, "outer")[0] + BIAS, 0)
    assert len(Symbolizer([module_of(chain)]).frames(address)) == 3
    assert only_entry(tmp_path / "xdg" / "heapglass" / "symbols").is_file()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_directory() == tmp_path / "home" / ".cache" / "heapglass" / "symbols"


def test_entries_unused_for_longest_go_first(tmp_path: Path) -> None:
    cache = SymbolCache(tmp_path / "cache", largest_total=3500)
    names = [entry_name("ab" * 20, (number,)) for number in range(4)]
    for age, name in enumerate(names[:3]):
        cache.store(name, b"x" * 1000)
        os.utime(tmp_path / "cache" / name, ns=(age, age))
    assert cache.load(names[0]) == b"x" * 1000
    cache.store(names[3], b"x" * 1000)
    left = {path.name for path in (tmp_path / "cache").iterdir()}
    assert left == {names[0], names[2], names[3]}
    assert cache.load(names[1]) is None


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    cache = SymbolCache(tmp_path / "cache")
    cache.store("name.symcache", b"payload")
    assert list((tmp_path / "cache").iterdir()) == []
    assert cache.load("name.symcache") is None
