"""Names from outside: nothing moves the cursor, and a shell gets back what was there."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from heapglass.text import printable, shell_word

NAMES = st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name)


def decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def test_ordinary_text_stays_as_it_is() -> None:
    assert printable("größe 日本") == "größe 日本"
    assert shell_word("./a-b_c/1.2:3") == "./a-b_c/1.2:3"


def test_what_is_no_text_is_escaped() -> None:
    assert printable("a\x1b[2Jb\n\udc80") == "a\\x1b[2Jb\\n\\x80"


@given(NAMES)
def test_all_that_comes_out_is_printable(name: bytes) -> None:
    assert printable(decoded(name)).isprintable()
    assert shell_word(decoded(name)).isprintable()


@settings(max_examples=5, deadline=None)
@given(st.lists(NAMES, min_size=20, max_size=20))
def test_a_shell_reads_back_what_was_there(names: list[bytes]) -> None:
    words = " ".join(shell_word(decoded(name)) for name in names)
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {words}"],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.split(b"\0")[:-1] == names
