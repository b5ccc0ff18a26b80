"""Reports of real programs, recorded for it: the page must say what the terminal says."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from harness.browser import open_report
from heapglass.units import format_size

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from harness.cli import Cli

SQL = (
    "create table t(id integer primary key, word text);"
    "with recursive c(i) as (select 1 union all select i + 1 from c where i < 20000)"
    " insert into t select i, 'word' || i from c; create index byword on t(word);"
)
HOLDING = '$| = 1; @blocks = map { "x" x (5000 + $_) } 1..2000; print "$$\\n"; <STDIN>;'


def make_report(cli: Cli, recording: Path) -> tuple[Path, dict[str, Any]]:
    done = cli("report", recording, "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(cli("summary", "--json", recording).stdout)
    return cli.directory / "page.html", summary


def test_sqlite(cli: Cli, browser: Browser) -> None:
    done = cli("run", "-q", "--snapshot", "0.01", "-o", "db.heapglass", "sqlite3", ":memory:", SQL)
    assert done.returncode == 0
    page, summary = make_report(cli, cli.directory / "db.heapglass")
    with open_report(browser, page) as report:
        totals = summary["totals"]
        for name, key in (("Peak", "peak_bytes"), ("Allocated", "bytes_allocated")):
            expect(report.tile(name).locator("b")).to_have_text(format_size(totals[key]))
        report.flame().press("Home")
        # What the sites held at the peak adds up to the peak.
        expect(report.detail()).to_contain_text(format_size(totals["peak_bytes"]))
        report.tab("Table")
        largest = summary["at_peak"][0]
        assert report.column(0)[0] == format_size(largest["peak_bytes"])
        report.page.get_by_role("slider").press("End")
        expect(report.page.locator("#picked")).to_contain_text("At ")


def test_a_program_that_was_killed_and_sampled(cli: Cli, browser: Browser) -> None:
    arguments = ("run", "-q", "--sample", "4k", "-o", "held.heapglass", "perl", "-e", HOLDING)
    process = cli.start(*arguments)
    assert process.stdout is not None
    os.kill(int(process.stdout.readline()), signal.SIGKILL)
    process.communicate()
    assert process.returncode == 128 + signal.SIGKILL
    page, summary = make_report(cli, cli.directory / "held.heapglass")
    with open_report(browser, page) as report:
        line = report.page.locator("#caveats summary")
        expect(line).to_contain_text("Sampled once in about 4.0 KiB")
        live = format_size(summary["totals"]["live_bytes"])
        expect(report.tile("Left at the end").locator("b")).to_have_text(live)
        expect(report.page.locator("#state")).to_contain_text("ended by signal 9 (SIGKILL)")
        report.flame().press("ArrowDown")
        expect(report.detail()).to_contain_text("±")
