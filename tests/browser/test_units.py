"""The page's numbers against the terminal's: one size must not have two names."""

from __future__ import annotations

from importlib.resources import files
from random import Random
from typing import TYPE_CHECKING

from heapglass.units import Units, format_compact, format_count, format_duration, format_size

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = (files("heapglass.web") / "assets" / "units.js").read_text(encoding="utf-8")
WORDS = """([base, values]) => {
  %s
  useUnits(base);
  const words = [formatSize, formatCount, formatCompact, formatDuration];
  return values.map((value) => words.map((word) => word(value)));
}"""


def numbers() -> list[int]:
    random = Random(11)  # noqa: S311 (repeatable is what it must be)
    near = [
        base**power + offset for base in (2, 10) for power in range(50) for offset in (-1, 0, 1)
    ]
    ties = [int(tenth * 10**power / 20) for tenth in range(1, 60) for power in (3, 6, 9, 12)]
    drawn = [random.randrange(10 ** random.randrange(1, 15)) for _ in range(500)]
    return [number for number in (*near, *ties, *drawn) if 0 <= number < 10**15]


def test_numbers_read_as_on_the_terminal(browser: Browser) -> None:
    page = browser.new_page()
    for units in Units:
        found = page.evaluate(WORDS % SCRIPT, [units.value, numbers()])
        expected = [
            [
                format_size(number, units),
                format_count(number),
                format_compact(number),
                format_duration(number).replace(" us", " µs"),
            ]
            for number in numbers()
        ]
        assert found == expected
    page.close()
