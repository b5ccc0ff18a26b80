"""numpy's side of the schema: the same structs as dtypes, tables as structured arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from heapglass.recording.layout import Bytes, Numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.layout import Field, Layout

Records = np.ndarray[tuple[int], np.dtype[np.void]]

_CODES = {"B": "u1", "H": "<u2", "I": "<u4", "Q": "<u8", "q": "<i8"}


_dtypes: dict[type[Layout], np.dtype[np.void]] = {}


def dtype_of(layout: type[Layout]) -> np.dtype[np.void]:
    if layout not in _dtypes:
        fields = [field for field in layout.FIELDS.values() if field.size]
        _dtypes[layout] = np.dtype(
            {
                "names": [field.name for field in fields],
                "formats": [_format(field) for field in fields],
                "offsets": [field.offset for field in fields],
                "itemsize": layout.SIZE,
            }
        )
    return _dtypes[layout]


def _format(field: Field) -> str | tuple[str, int] | np.dtype[np.void]:
    if field.nested:
        nested = dtype_of(field.nested)
        return nested if field.count == 1 else np.dtype((nested, field.count))
    code = _CODES[field.code]
    return (code, field.count) if isinstance(field, Numbers | Bytes) else code


def view(data: bytes | bytearray, layout: type[Layout]) -> Records:
    """The whole records in `data`; no copy."""
    return np.frombuffer(data, dtype_of(layout), count=len(data) // layout.SIZE)


def table(image: Image, kind: int, layout: type[Layout], count: int) -> Records:
    return view(image.table(kind, layout.SIZE, count), layout)


def signed(column: NDArray[Any]) -> NDArray[np.int64]:
    """A counter as a contiguous signed column; what exceeds 63 bits wraps and is seen as less than
    nothing, which only a damaged file can hold."""
    return column.astype(np.int64)
