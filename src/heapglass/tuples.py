"""Named tuples declared with types, as `typing.NamedTuple` has them, without importing `typing`.

For what `heapglass run` imports at every start: `typing` takes a quarter of that time. Type
checkers see the original.
"""

from __future__ import annotations

from collections import namedtuple

__all__ = ["NamedTuple"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:

    class _Declared(type):
        """Makes a named tuple of a class body that lists its fields as annotations."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults)  # noqa: PYI024 (needs typing)
            return type(name, (made,), {**body, "__slots__": ()})

    class NamedTuple(metaclass=_Declared):
        pass
