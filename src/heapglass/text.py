"""Text from outside, such as names of files and arguments, made fit to print.

Anyone may have written it: what could move a terminal's cursor is escaped, and bytes that are no
text are shown as such. Imports nothing; it is on the way of every `heapglass run`.
"""

from __future__ import annotations

_PLAIN = frozenset("@%+=:,./-_")  # what a shell takes as it is, beside letters and digits
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # how the interpreter keeps bytes that are no text


def printable(text: str) -> str:
    r"""The text with control characters escaped, and bytes that are no text as `\xff`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def shell_word(text: str) -> str:
    r"""The text as one word of a shell, always printable: `a.out`, `'two words'`, `$'\377'`."""
    if text and all((c.isascii() and c.isalnum()) or c in _PLAIN for c in text):
        return text
    if text.isprintable():
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return "$'" + "".join(map(_in_dollar_quotes, text)) + "'"


def _escape(char: str) -> str:
    if _FIRST_BYTE <= ord(char) <= _LAST_BYTE:
        return f"\\x{ord(char) & 0xFF:02x}"
    return ascii(char)[1:-1]


def _in_dollar_quotes(char: str) -> str:
    if char in "'\\":
        return "\\" + char
    if char.isprintable():
        return char
    # Octal digits end by themselves; hexadecimal ones would swallow what follows.
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
