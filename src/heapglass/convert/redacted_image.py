"""The places in a recording where names stand: header, threads, modules, marks, strings."""

from __future__ import annotations

import os

from heapglass.convert.redaction import Redactor
from heapglass.recording import schema
from heapglass.recording.file.image import Image
from heapglass.recording.file.packed import ImageFile
from heapglass.recording.file.writer import Value, pack, put
from heapglass.recording.process import arguments, text
from heapglass.recording.tables.modules import ModuleTable, read_module_records


def redact_image(file: ImageFile, redactor: Redactor) -> None:
    image = Image(file)
    strings = _redact_modules(image, redactor)
    _redact_marks(image, redactor, strings)
    _redact_threads(image, redactor)
    header = bytearray(image.header.data)
    _redact_header(header, image.header, redactor)
    _replace_strings(image, header, strings)
    file.write(0, bytes(header))


def _redact_header(header: bytearray, old: schema.Header, redactor: Redactor) -> None:
    """Everything that is text; a text that became too long is cut, as the target does it."""
    path, *rest = arguments(old) or ("",)
    words = [redactor.path(path), *(redactor.argument(word) for word in rest)]
    command_line = b"".join(os.fsencode(word) + b"\0" for word in words if path or rest)
    options = [text(option) for option in old.options.split(b"\0") if option]
    texts = {
        "executable": redactor.path(text(old.executable)),
        "working_directory": redactor.path(text(old.working_directory)),
        "host": redactor.word(text(old.host)),
        "name": redactor.path(text(old.name)),
        "title": " ".join(map(redactor.path, text(old.title).split(" "))),
        "allocator": redactor.path(text(old.allocator)),
        "options": "\0".join(map(redactor.option, options)),
    }
    for name, replaced in texts.items():
        _put_text(header, name, os.fsencode(replaced))
    room = schema.Header.FIELDS["command_line"].size
    _put_text(header, "command_line", command_line)
    put(header, schema.Header, "command_line_length", min(len(command_line), room - 1))
    if len(command_line) >= room:
        put(header, schema.Header, "command_line_cut", 1)


def _put_text(header: bytearray, name: str, value: bytes) -> None:
    room = schema.Header.FIELDS[name].size
    put(header, schema.Header, name, value[: room - 1].ljust(room, b"\0"))


def _redact_threads(image: Image, redactor: Redactor) -> None:
    field = schema.ThreadRecord.FIELDS["name"]
    for extent in image.extents(schema.KIND_THREADS):
        data = bytearray(image.file.read(extent.offset, extent.length))
        for record in schema.ThreadRecord.each(data):
            if record.tid:
                name = os.fsencode(redactor.thread(text(record.name)))[: field.size - 1]
                put(data, schema.ThreadRecord, "name", name.ljust(field.size, b"\0"), record.base)
        image.file.write(extent.offset, bytes(data))


def _redact_modules(image: Image, redactor: Redactor) -> bytearray:
    """The new strings; the modules' records point into them."""
    modules = ModuleTable(image, read_module_records(image)).modules
    strings = bytearray(b"\0")
    places = {}
    for module in modules:
        places[module.index] = len(strings)
        strings += os.fsencode(redactor.path(module.path)) + b"\0"
    for extent in image.extents(schema.KIND_MODULES):
        data = bytearray(image.file.read(extent.offset, extent.length))
        for number, record in enumerate(schema.Module.each(data), extent.first):
            if record.start and number in places:
                is_public = redactor.is_public_module(modules[number].path)
                values: dict[str, Value] = {"path": places[number]}
                if not is_public:
                    values |= _identity(record, redactor)
                for name, value in values.items():
                    put(data, schema.Module, name, value, record.base)
        image.file.write(extent.offset, bytes(data))
    return strings


def _identity(record: schema.Module, redactor: Redactor) -> dict[str, Value]:
    """What would tell which build of which program it was."""
    build_id = redactor.scramble(record.build_id[: record.build_id_length])
    return {"build_id": build_id, "file_size": 0, "file_mtime_ns": 0}


def _redact_marks(image: Image, redactor: Redactor, strings: bytearray) -> None:
    """Their new names go to `strings`."""
    old = image.table(schema.KIND_STRINGS, 1)
    for extent in image.extents(schema.KIND_MARKS):
        data = bytearray(image.file.read(extent.offset, extent.length))
        for record in schema.Mark.each(data):
            if not record.name:
                continue
            name = text(bytes(old[record.name : old.find(0, record.name)]))
            put(data, schema.Mark, "name", len(strings), record.base)
            strings += os.fsencode(redactor.word(name)) + b"\0"
        image.file.write(extent.offset, bytes(data))


def _replace_strings(image: Image, header: bytearray, strings: bytearray) -> None:
    """One extent at the end takes the place of all old ones, which are wiped."""
    end = image.header.used
    length = -(-len(strings) // schema.STEP) * schema.STEP
    entry = {"kind": schema.KIND_STRINGS, "offset": end, "length": length}
    extent = bytes(pack(schema.Extent, entry))
    for offset, entries in image.directory.blocks:
        for base in range(0, len(entries), schema.Extent.SIZE):
            old = schema.Extent(entries, base)
            if old.kind == schema.KIND_STRINGS:
                image.file.write(old.offset, bytes(old.length))
                image.file.write(offset + base, extent)
                extent = bytes(schema.Extent.SIZE)
    image.file.write(end, bytes(strings.ljust(length, b"\0")))
    put(header, schema.Header, "used", end + length)
    put(header, schema.Header, "strings_used", len(strings))
