"""A recording and the names of all its addresses as one packed file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

from heapglass import __version__
from heapglass.convert.redacted_image import redact_image
from heapglass.convert.redaction import Redactor
from heapglass.files import permissions_of, write_aside
from heapglass.model import Frame, FrameAddress
from heapglass.packfile.container import PART_ABOUT, PART_IMAGE, PART_NAMES, PackWriter
from heapglass.recording.file.packed import ImageFile, open_file
from heapglass.recording.frozen import freeze
from heapglass.recording.reader import Recording
from heapglass.symbols.names.location import Location
from heapglass.symbols.names.name_table import Key, Locations, encode_names
from heapglass.symbols.naming import names_of
from heapglass.symbols.symbolizer import offset_in

Say = Callable[[str], None]


def pack(source: str, target: Path, redactor: Redactor | None, say: Say) -> None:
    """`target` is whole or not there, with the permissions of `source`. RecordingError when that is
    none, ExportError when `target` cannot be written."""
    say("copying the recording")
    with open_file(source) as file:
        image = freeze(file, f"heapglass {__version__}")
    names, warnings = _collect_names(Recording(image), redactor, say)
    if redactor is not None and image.about is not None:
        warnings = _redacted_warnings(warnings)
        redact_image(image, redactor)
        image.about = replace(image.about, is_redacted=True)
    say("compressing")
    with write_aside(target, permissions_of([source])) as out:
        _write(out, image, encode_names(names, warnings))


def _collect_names(
    heap: Recording, redactor: Redactor | None, say: Say
) -> tuple[dict[Key, Locations], list[str]]:
    """Those of all addresses in it, and what kept some from being found."""
    sites = heap.sites().id.tolist()
    wanted = dict.fromkeys(frame for site in sites for frame in heap.stack(site).frames)
    resolver = names_of(heap, say)
    names = {}
    for address, frames in resolver.resolve(wanted).items():
        if frames[-1].function or len(frames) > 1:
            names[_key(heap, address)] = tuple(_location(frame, redactor) for frame in frames)
    return names, resolver.warnings


def _key(heap: Recording, address: FrameAddress) -> Key:
    if address.module < 0:
        return (-1, address.address)
    return (address.module, offset_in(heap.modules[address.module], address))


def _location(frame: Frame, redactor: Redactor | None) -> Location:
    if redactor is None:
        return Location(frame.function, frame.file, frame.line)
    return Location(redactor.function(frame), redactor.source(frame), frame.line)


def _redacted_warnings(warnings: list[str]) -> list[str]:
    """They name files."""
    if not warnings:
        return []
    return [f"when it was packed, {len(warnings)} remarks about missing names were left out"]


def _write(out: IO[bytes], image: ImageFile, names: bytes) -> None:
    writer = PackWriter(out, 3)
    about = image.about.encode() if image.about else b""
    writer.add(PART_ABOUT, iter((about,)))
    writer.add(PART_NAMES, iter((names,)))
    writer.add(PART_IMAGE, image.runs())
    writer.finish()
