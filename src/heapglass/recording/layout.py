"""How a C struct is declared and read in Python: fields in order, natural alignment, little-endian.

A struct is a `Layout` subclass whose class body lists the fields as C does; an instance is a view
of bytes that decodes a field when it is asked for. Nothing heavy is imported: the closing lines of
`heapglass run` come through here, and `columns.dtype_of` makes numpy dtypes of the same classes.
"""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import ClassVar, Self


class Field:
    """One member: where it lies and how it is coded (`code` as the struct module has it)."""

    __slots__ = ("align", "code", "count", "name", "nested", "offset", "size")

    def __init__(
        self, code: str, count: int, align: int = 0, nested: type[Layout] | None = None
    ) -> None:
        coding = Struct("<" + code)
        unit = nested.SIZE if nested else coding.size
        self.code = code
        self.count = count
        self.nested = nested
        self.align = align or (nested.ALIGN if nested else coding.size)
        self.size = unit * count
        self.name = ""
        self.offset = 0

    def __set_name__(self, owner: type[Layout], name: str) -> None:
        self.name = name


class Number(Field):
    """One integer."""

    __slots__ = ("_unpack",)

    def __init__(self, code: str, align: int = 0) -> None:
        super().__init__(code, 1, align)
        self._unpack = Struct("<" + code).unpack_from

    def __get__(self, record: Layout, owner: type[Layout]) -> int:
        value: int = self._unpack(record.data, record.base + self.offset)[0]
        return value


class Numbers(Field):
    """An array of integers."""

    __slots__ = ("_unpack",)

    def __init__(self, code: str, count: int) -> None:
        super().__init__(code, count)
        self._unpack = Struct(f"<{count}{code}").unpack_from

    def __get__(self, record: Layout, owner: type[Layout]) -> tuple[int, ...]:
        return self._unpack(record.data, record.base + self.offset)


class Bytes(Field):
    """An array of characters or octets, as it stands in the file."""

    __slots__ = ()

    def __init__(self, count: int) -> None:
        super().__init__("B", count)

    def __get__(self, record: Layout, owner: type[Layout]) -> bytes:
        start = record.base + self.offset
        return bytes(record.data[start : start + self.size])


class Nested(Field):
    """A struct inside, or (count 0) an array of them that goes on behind the struct."""

    __slots__ = ()

    def __init__(self, layout: type[Layout], count: int = 1) -> None:
        super().__init__("B", count, nested=layout)


class Layout:
    """A struct. SIZE and every field's `offset` are those of the C compiler."""

    __slots__ = ("base", "data")
    FIELDS: ClassVar[dict[str, Field]] = {}
    SIZE: ClassVar[int] = 0
    ALIGN: ClassVar[int] = 1

    def __init__(self, data: bytes | bytearray, base: int = 0) -> None:
        self.data = data
        self.base = base

    def __init_subclass__(cls) -> None:
        cls.FIELDS = {name: f for name, f in vars(cls).items() if isinstance(f, Field)}
        end = 0
        for field in cls.FIELDS.values():
            field.offset = _round_up(end, field.align)
            end = field.offset + field.size
        cls.ALIGN = max(field.align for field in cls.FIELDS.values())
        cls.SIZE = _round_up(end, cls.ALIGN)

    @classmethod
    def each(cls, table: bytes | bytearray) -> Iterator[Self]:
        """Views of the records that lie one behind the other in `table`."""
        for base in range(0, len(table) - cls.SIZE + 1, cls.SIZE):
            yield cls(table, base)


def _round_up(value: int, align: int) -> int:
    return -(-value // align) * align
