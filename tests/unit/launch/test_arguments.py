"""The arguments of `heapglass run`."""

from __future__ import annotations

import pytest

from heapglass.cli.run import parse
from heapglass.errors import LaunchError
from heapglass.launch.options import RunOptions


def parsed(*arguments: str) -> RunOptions:
    options = parse(arguments)
    assert options is not None
    return options


def test_command_alone_leaves_everything_at_its_default() -> None:
    assert parsed("ls", "-l") == RunOptions(command=("ls", "-l"))


def test_options_end_where_the_command_begins() -> None:
    assert parsed("-q", "grep", "-f", "--depth").command == ("grep", "-f", "--depth")
    assert parsed("-q", "--", "-f", "x").command == ("-f", "x")
    assert parsed("--", "--", "x").command == ("--", "x")
    assert parsed("-", "x").command == ("-", "x")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "out", "-f", "-q"),
        ("--output", "out", "--force", "--quiet"),
        ("--output=out", "-qf"),
        ("-fqoout",),
        ("-qfo", "out"),
    ],
)
def test_all_spellings_mean_the_same(arguments: tuple[str, ...]) -> None:
    options = parsed(*arguments, "cmd")
    assert options == RunOptions(("cmd",), output="out", is_forced=True, is_quiet=True)


def test_values_are_read() -> None:
    options = parsed(
        *("--depth", "64", "--no-follow", "--snapshot", "0.25"),
        *("--snapshot-churn", "64M", "--memory=1.5GiB", "--core"),
        *("--report", "5", "--report-to", "reports", "--socket=/tmp/%p.sock"),
        *("--log", "calls.log", "--log-fd=9", "--log-stacks", "--trace", "cmd"),
    )
    assert options == RunOptions(
        ("cmd",),
        follows_children=False,
        depth=64,
        snapshot_seconds="0.25",
        churn_bytes=64 << 20,
        memory_bytes=3 << 29,
        report_seconds="5",
        report_to="reports",
        socket="/tmp/%p.sock",
        has_core=True,
        log="calls.log",
        log_fd=9,
        has_log_stacks=True,
        has_trace=True,
    )


@pytest.mark.parametrize(
    ("arguments", "sample"),
    [
        (("--sample", "cmd"), "524288"),
        (("--sample", "--", "cmd"), "524288"),
        (("--sample", "auto", "cmd"), "auto"),
        (("--sample", "64k", "cmd"), "65536"),
        (("--sample=100000", "cmd"), "131072"),
        (("--sample=0", "cmd"), "0"),
        (("cmd",), None),
    ],
)
def test_sampling_may_have_a_value(arguments: tuple[str, ...], sample: str | None) -> None:
    options = parsed(*arguments)
    assert (options.command, options.sample) == (("cmd",), sample)


def test_zero_switches_snapshots_off() -> None:
    options = parsed("--snapshot", "0", "--snapshot-churn", "0", "cmd")
    assert (options.snapshot_seconds, options.churn_bytes) == ("0", 0)


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("-qh", "cmd"), ("-o", "x", "--help")])
def test_help_needs_no_command(arguments: tuple[str, ...]) -> None:
    assert parse(arguments) is None


def test_help_behind_the_command_is_the_commands() -> None:
    assert parsed("ls", "--help").command == ("ls", "--help")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no command"),
        (("-q",), "no command"),
        (("--",), "no command"),
        (("--nonsense", "cmd"), "no option --nonsense"),
        (("-x", "cmd"), "no option -x"),
        (("-qx", "cmd"), "no option -x"),
        (("--quiet=yes", "cmd"), "--quiet takes no value"),
        (("-o",), "-o needs a value"),
        (("--output=", "cmd"), "--output needs a value"),
        (("-o", "", "cmd"), "-o needs a value"),
        (("--depth", "0", "cmd"), "--depth: 0 is not"),
        (("--depth", "4097", "cmd"), "--depth: 4097 is not"),
        (("--depth", "many", "cmd"), "--depth: many is not"),
        (("--depth", "٣", "cmd"), "--depth: ٣ is not"),
        (("--snapshot", ".5", "cmd"), "--snapshot: .5 is not"),
        (("--snapshot", "-1", "cmd"), "--snapshot: -1 is not"),
        (("--snapshot", "1e3", "cmd"), "--snapshot: 1e3 is not"),
        (("--snapshot", "1.5.2", "cmd"), "--snapshot: 1.5.2 is not"),
        (("--memory", "lots", "cmd"), "'lots' is not a size"),
        (("--memory", "4095k", "cmd"), "--memory: 4095k is not between 4.0 MiB and"),
        (("--sample", "1", "cmd"), "--sample: 1 is not between 256 B and"),
        (("--sample=2G", "cmd"), "--sample: 2G is not between 256 B and 1 GiB"),
        (("--sample=often", "cmd"), "'often' is not a size"),
        (("--snapshot-churn", "16E", "cmd"), "--snapshot-churn: 16E is not between"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(LaunchError) as caught:
        parse(arguments)
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 125
