"""Finds the files that a module's names come from; checks that they are of the recorded build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heapglass.model import Module
from heapglass.symbols.cache import stamp
from heapglass.symbols.elf import ElfFile
from heapglass.symbols.files.debugfile import find_by_build_id, find_by_link
from heapglass.symbols.files.debuginfod import Debuginfod
from heapglass.symbols.files.dwarf import has_dwarf
from heapglass.symbols.raw import FileRaw, Raw, SymbolError

MACHINES = ("x86_64", "aarch64")  # those that can be recorded
RECORDED_BUILD_ID = 64  # hex digits that fit a recording


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the names of a module are; "" for what there is not."""

    module: Module
    file: str = ""  # the module itself, if it is still the one that was recorded
    debug: str = ""  # its separate debug file
    problem: str = ""  # why there is no file, in words

    def stamps(self) -> tuple[object, ...]:
        """What changes when any of them does."""
        module = self.module
        if module.is_vdso:
            return ("vdso", module.build_id)
        files = [path for path in (self.file, self.debug) if path]
        return tuple(stamp(path, module.build_id) for path in files)


@dataclass(frozen=True, slots=True)
class Finder:
    debug_roots: Sequence[str]
    servers: Debuginfod

    def find(self, module: Module) -> Sources:
        if not module.path or module.is_vdso:
            return Sources(module)
        try:
            with FileRaw(module.path) as raw:
                elf = ElfFile(raw)
                check_unchanged(module, elf, raw)
                debug = "" if has_dwarf(elf) else self._find_debug_file(module.path, elf)
                return Sources(module, module.path, debug)
        except SymbolError as error:
            # A debug file found by the recorded build-id is right even when the module is not.
            debug = self._find_by_build_id(module.build_id)
            outcome = f"names come from {debug}" if debug else "its frames are shown as offsets"
            return Sources(module, "", debug, f"{error}; {outcome}")

    def _find_debug_file(self, path: str, elf: ElfFile) -> str:
        by_id = find_by_build_id(elf.build_id, self.debug_roots)
        return (
            by_id
            or find_by_link(path, elf, self.debug_roots)
            or self.servers.find(elf.build_id[:RECORDED_BUILD_ID])
        )

    def _find_by_build_id(self, build_id: str) -> str:
        return find_by_build_id(build_id, self.debug_roots) or self.servers.find(build_id)


def check_unchanged(module: Module, elf: ElfFile, raw: Raw) -> None:
    """SymbolError unless this is, as far as one can tell, the file that was recorded."""
    if (elf.bits, elf.is_little_endian) != (64, True) or elf.machine not in MACHINES:
        raise SymbolError(f"it is a program for another machine ({elf.describe()})")
    if module.build_id:
        if elf.build_id[:RECORDED_BUILD_ID] != module.build_id[:RECORDED_BUILD_ID]:
            raise SymbolError("the file was replaced since the recording (its build-id differs)")
        return
    if module.file_size and raw.size != module.file_size:
        raise SymbolError("the file was replaced since the recording (its size differs)")
    modified_ns = raw.status.st_mtime_ns if isinstance(raw, FileRaw) else 0
    if module.file_mtime_ns and modified_ns and modified_ns != module.file_mtime_ns:
        raise SymbolError("the file was changed since the recording (its date differs)")
