"""Rust names of the newer kind ("v0", they start with _R), shown as rustc shows them.

The grammar is RFC 2603 with the later additions for constants. Crate hashes are left out, as are
the types of constants. Names may refer back into themselves, so a short one can stand for an
endless text: depth and output are bounded, and what exceeds them is not demangled.
"""

from __future__ import annotations

from collections.abc import Callable

BASIC_TYPES = {
    "a": "i8",
    "b": "bool",
    "c": "char",
    "d": "f64",
    "e": "str",
    "f": "f32",
    "h": "u8",
    "i": "isize",
    "j": "usize",
    "l": "i32",
    "m": "u32",
    "n": "i128",
    "o": "u128",
    "p": "_",
    "s": "i16",
    "t": "u16",
    "u": "()",
    "v": "...",
    "x": "i64",
    "y": "u64",
    "z": "!",
}
SIGNED = "asxlni"
UNSIGNED = "htmyoj"
BASE_62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
DEEPEST = 100
LONGEST = 1 << 16


class _NotANameError(Exception):
    """The symbol does not follow the grammar, or exceeds the bounds."""


def demangle_v0(symbol: str) -> str | None:
    """The path of that symbol, or None when it is no such name."""
    body, _, _ = symbol.partition(".")
    if not body.startswith("_R") or not body.isascii() or body[2:3].isdigit():
        return None  # a number here would be a version of the grammar that nobody has made yet
    parser = _Parser(body[2:])
    try:
        name = parser.path(in_value=True)
        if parser.rest() and parser.rest()[0] in "CIMNXYB":
            parser.path(in_value=False)  # the crate that made this copy: not part of the name
        return None if parser.rest() and parser.rest()[0] != "$" else name
    except (_NotANameError, ValueError, OverflowError, IndexError, RecursionError):
        return None


class _Parser:
    """Recursive descent; every method returns the text of what it has read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._budget = LONGEST
        self._lifetimes = 0  # bound by the `for<...>` around us

    def rest(self) -> str:
        return self._text[self._at :]

    # ---- reading

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _NotANameError
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, wanted: str) -> bool:
        if self._text.startswith(wanted, self._at):
            self._at += len(wanted)
            return True
        return False

    def _spend(self, amount: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise _NotANameError

    def _nested(self, read: Callable[[], str]) -> str:
        self._spend(1)
        self._depth += 1
        if self._depth > DEEPEST:
            raise _NotANameError
        text = read()
        self._depth -= 1
        return text

    def _number(self) -> int:
        """In base 62, ended by "_"; nothing in front of it means 0, "0" means 1."""
        if self._take("_"):
            return 0
        value = 0
        while True:
            digit = self._next()
            if digit == "_":
                return value + 1
            place = BASE_62.find(digit)
            if place < 0 or value >= 1 << 64:
                raise _NotANameError
            value = value * 62 + place

    def _optional_number(self, mark: str) -> int:
        return self._number() + 1 if self._take(mark) else 0

    def _until_end(self, read: Callable[[], str]) -> list[str]:
        texts = []
        while not self._take("E"):
            texts.append(read())
        return texts

    def _back_reference(self, read: Callable[[], str]) -> str:
        start = self._at - 1
        target = self._number()
        if target >= start:
            raise _NotANameError
        here, self._at = self._at, target
        text = self._nested(read)
        self._at = here
        return text

    # ---- identifiers

    def _identifier(self) -> str:
        is_punycode = self._take("u")
        first = self._next()
        if not first.isdigit():
            raise _NotANameError
        digits = first
        while first != "0" and self.rest()[:1].isdigit():
            digits += self._next()
        self._take("_")
        start, self._at = self._at, self._at + int(digits)
        if self._at > len(self._text):
            raise _NotANameError
        self._spend(int(digits))
        name = self._text[start : self._at]
        return _from_punycode(name) if is_punycode else name

    # ---- paths

    def path(self, *, in_value: bool) -> str:
        return self._nested(lambda: self._path(in_value=in_value))

    def _path(self, *, in_value: bool) -> str:
        tag = self._next()
        if tag == "C":
            self._optional_number("s")
            return self._identifier()
        if tag == "N":
            return self._nested_path(in_value=in_value)
        if tag in "MX":
            self._optional_number("s")
            self.path(in_value=False)  # where the impl stands: not part of the name
        if tag in "MXY":
            subject = self._type()
            return f"<{subject}>" if tag == "M" else f"<{subject} as {self.path(in_value=False)}>"
        if tag == "I":
            base = self.path(in_value=in_value)
            arguments = ", ".join(self._until_end(self._generic_argument))
            return f"{base}::<{arguments}>" if in_value else f"{base}<{arguments}>"
        if tag == "B":
            return self._back_reference(lambda: self.path(in_value=in_value))
        raise _NotANameError

    def _nested_path(self, *, in_value: bool) -> str:
        space = self._next()
        if not space.isalpha():
            raise _NotANameError
        base = self.path(in_value=in_value)
        index = self._optional_number("s")
        name = self._identifier()
        if space.islower():
            return f"{base}::{name}" if name else base
        kind = {"C": "closure", "S": "shim"}.get(space, space)
        return f"{base}::{{{kind}{':' if name else ''}{name}#{index}}}"

    def _generic_argument(self) -> str:
        if self._take("L"):
            return self._lifetime(self._number())
        if self._take("K"):
            return self._constant()
        return self._type()

    # ---- lifetimes

    def _lifetime(self, index: int) -> str:
        if not index:
            return "'_"
        depth = self._lifetimes - index
        if depth < 0:
            raise _NotANameError
        return f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}"

    def _bound(self, read: Callable[[], str]) -> str:
        """What may open with `for<'a, ...>`."""
        count = self._optional_number("G")
        self._spend(count)
        self._lifetimes += count
        names = ", ".join(self._lifetime(index) for index in range(count, 0, -1))
        text = read()
        self._lifetimes -= count
        return f"for<{names}> {text}" if count else text

    # ---- types

    def _type(self) -> str:
        return self._nested(self._any_type)

    def _any_type(self) -> str:
        tag = self._next()
        if tag in BASIC_TYPES:
            return BASIC_TYPES[tag]
        if tag in "RQ":
            return self._reference("&" if tag == "R" else "&mut ")
        if tag in "PO":
            return ("*const " if tag == "P" else "*mut ") + self._type()
        if tag in "AS":
            element = self._type()
            return f"[{element}; {self._constant()}]" if tag == "A" else f"[{element}]"
        if tag == "T":
            return _tuple(self._until_end(self._type))
        if tag == "F":
            return self._bound(self._function)
        if tag == "D":
            return self._dynamic()
        if tag == "B":
            return self._back_reference(self._type)
        self._at -= 1
        return self.path(in_value=False)

    def _reference(self, sign: str) -> str:
        index = self._number() if self._take("L") else 0
        lifetime = f"{self._lifetime(index)} " if index else ""
        return f"{sign[0]}{lifetime}{sign[1:]}{self._type()}"

    def _function(self) -> str:
        safety = "unsafe " if self._take("U") else ""
        linkage = ""
        if self._take("K"):
            abi = "C" if self._take("C") else self._identifier().replace("_", "-")
            linkage = f'extern "{abi}" '
        arguments = ", ".join(self._until_end(self._type))
        result = "" if self._take("u") else f" -> {self._type()}"
        return f"{safety}{linkage}fn({arguments}){result}"

    def _dynamic(self) -> str:
        bounds = self._bound(lambda: " + ".join(self._until_end(self._dynamic_trait)))
        if not self._take("L"):
            raise _NotANameError
        index = self._number()
        return f"dyn {bounds}" + (f" + {self._lifetime(index)}" if index else "")

    def _dynamic_trait(self) -> str:
        base = self.path(in_value=False)
        bindings = []
        while self._take("p"):
            name = self._identifier()
            bindings.append(f"{name} = {self._type()}")
        if not bindings:
            return base
        if base.endswith(">") and not base.startswith("<"):
            return f"{base[:-1]}, {', '.join(bindings)}>"
        return f"{base}<{', '.join(bindings)}>"

    # ---- constants

    def _constant(self) -> str:
        return self._nested(self._any_constant)

    def _any_constant(self) -> str:
        tag = self._next()
        if tag == "p":
            return "_"
        if tag == "B":
            return self._back_reference(self._constant)
        if tag in "RQATV":
            return self._compound_constant(tag)
        return self._plain_constant(tag)

    def _plain_constant(self, tag: str) -> str:
        if tag in SIGNED:
            sign = "-" if self._take("n") else ""
            return f"{sign}{self._hex()}"
        if tag in UNSIGNED:
            return str(self._hex())
        if tag == "b":
            return ("false", "true")[self._hex()]
        if tag == "c":
            return _quoted(chr(self._hex()), "'")
        if tag == "e":
            return "*" + self._string()
        raise _NotANameError

    def _compound_constant(self, tag: str) -> str:
        if tag == "A":
            return f"[{', '.join(self._until_end(self._constant))}]"
        if tag == "T":
            return _tuple(self._until_end(self._constant))
        if tag == "V":
            return self._structure()
        if tag == "R" and self._take("e"):
            return self._string()
        return ("&" if tag == "R" else "&mut ") + self._constant()

    def _hex_digits(self) -> str:
        end = self._text.find("_", self._at)
        digits = self._text[self._at : end]
        if end < 0 or any(digit not in "0123456789abcdef" for digit in digits):
            raise _NotANameError
        self._spend(len(digits))
        self._at = end + 1
        return digits

    def _hex(self) -> int:
        return int(self._hex_digits() or "0", 16)

    def _string(self) -> str:
        return _quoted(bytes.fromhex(self._hex_digits()).decode(), '"')

    def _structure(self) -> str:
        shape = self._next()
        name = self.path(in_value=True)
        if shape == "U":
            return name
        if shape == "T":
            return f"{name}({', '.join(self._until_end(self._constant))})"
        if shape == "S":
            return f"{name} {{ {', '.join(self._until_end(self._field))} }}"
        raise _NotANameError

    def _field(self) -> str:
        self._optional_number("s")
        name = self._identifier()
        return f"{name}: {self._constant()}"


def _tuple(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _from_punycode(encoded: str) -> str:
    """Punycode with "_" where it usually has "-"; see RFC 2603."""
    plain, separator, rest = encoded.rpartition("_")
    return (plain + "-" + rest if separator else rest).encode("ascii").decode("punycode")


def _quoted(text: str, quote: str) -> str:
    escapes = {
        "\\": "\\\\",
        quote: "\\" + quote,
        "\n": "\\n",
        "\t": "\\t",
        "\r": "\\r",
        "\0": "\\0",
    }
    return quote + "".join(escapes.get(char) or _visible(char) for char in text) + quote


def _visible(char: str) -> str:
    return char if char.isprintable() else f"\\u{{{ord(char):x}}}"
