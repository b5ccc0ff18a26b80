"""The snapshot log, read by a parser of its own and held against the recording of the same run."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench, Run, setting_for
from harness.cli import Cli
from harness.pmem_log import Snapshot, contradictions, parse_log
from harness.programs import program
from harness.running import under_heapglass
from heapglass.analysis.source_hash import source_hash
from heapglass.model import HeapSource

SOURCES = program("sources")
ROUNDS = 3000
BYTES_A_ROUND = 24 + 2 * 1000


def record(bench: Bench, *arguments: str, **settings: str) -> Run:
    settings = {"HEAPGLASS_PMEM": "1", **settings}
    return bench.compare(SOURCES.argv((str(ROUNDS), *arguments)), under_heapglass(**settings))


def log_of(source: HeapSource, name: str = "pmem.{pid}.log") -> list[Snapshot]:
    path = Path(source.name).parent / name.format(pid=source.process.pid)
    return parse_log(path.read_text())


def allocated(snapshots: list[Snapshot], function: str) -> int:
    """Bytes, by all sources that the function is on: a source that rests is not shown again."""
    last = {source.hash: source for snapshot in snapshots for source in snapshot.sources}
    return sum(s.allocated_in_all for s in last.values() if function in s.functions)


def test_one_each_mebibyte_and_one_at_the_end(bench: Bench) -> None:
    run = record(bench)
    snapshots = log_of(run.recording)
    assert contradictions(snapshots) == []
    assert len(snapshots) == ROUNDS * BYTES_A_ROUND // (1 << 20) + 1
    assert {snapshot.threshold for snapshot in snapshots} == {1 << 20}
    for snapshot in snapshots[:-1]:
        assert snapshot.churn < (1 << 20) + 1024, "between two events, not later"
    last = snapshots[-1]
    kept, passing = last.named("site_kept"), last.named("site_passing")
    assert (kept.live, kept.allocated_in_all, kept.freed_in_all) == (24 * ROUNDS, 24 * ROUNDS, 0)
    assert (passing.live, passing.allocated_in_all) == (0, 1000 * ROUNDS)
    assert passing.freed_in_all == 1000 * ROUNDS
    assert kept.functions[:3] == ("site_kept", "site_rounds", "main")


def test_the_last_snapshot_is_what_the_recording_ends_with(bench: Bench) -> None:
    recording = record(bench).recording
    table, last = recording.sites(), log_of(recording)[-1]
    stacks = [recording.stack(int(site)) for site in table.id]
    hashes = [source_hash(stack, recording.modules) for stack in stacks]
    by_hash = {source.hash: source for source in last.sources}
    for row, hash_ in enumerate(hashes):
        if not table.live_bytes[row] and hash_ not in by_hash:
            continue
        source = by_hash.pop(hash_)
        assert source.live == table.live_bytes[row]
        assert source.allocated_in_all == table.bytes_allocated[row]
        assert source.freed_in_all == table.bytes_freed[row]
        addresses = [frame.address for frame in stacks[row].frames]
        assert [frame.address for frame in source.frames] == addresses
    assert by_hash == {}


def test_an_export_of_the_recording_says_the_same(bench: Bench, cli: Cli) -> None:
    recording = record(bench).recording
    exported = cli("export", "--format", "pmem", "-o", "-", recording.name)
    assert exported.returncode == 0, exported.stderr
    assert parse_log(exported.stdout) == log_of(recording)


def test_functions_are_those_of_the_symbol_table(bench: Bench) -> None:
    recording = record(bench).recording
    [main] = [module for module in recording.modules if module.is_main]
    listed = subprocess.run(["nm", main.path], capture_output=True, text=True, check=True).stdout
    starts = {line.split()[2]: int(line[:16], 16) for line in listed.splitlines() if line[0] != " "}
    own = [
        frame
        for source in log_of(recording)[-1].sources
        for frame in source.frames
        if frame.module == main.path
    ]
    assert {"site_kept", "site_rounds", "main", "_start"} <= {frame.function for frame in own}
    for frame in own:
        assert frame.address - main.bias - frame.offset == starts[frame.function]


def test_a_stripped_program_has_offsets(bench: Bench) -> None:
    stripped = bench.directory / "stripped"
    subprocess.run(["strip", "-o", stripped, SOURCES.path()], check=True)
    run = bench.compare([str(stripped), str(ROUNDS)], under_heapglass(HEAPGLASS_PMEM="1"))
    [main] = [module for module in run.recording.modules if module.is_main]
    frames = [f for s in log_of(run.recording)[-1].sources for f in s.frames]
    own = [frame for frame in frames if frame.module == str(stripped)]
    assert own
    for frame in own:
        assert (frame.function, frame.offset) == ("", frame.address - main.bias)


def test_hashes_last_from_run_to_run(bench: Bench) -> None:
    one, other = (log_of(record(bench).recording)[-1] for _ in range(2))
    assert {source.hash for source in one.sources} == {source.hash for source in other.sources}
    assert len({source.hash for source in one.sources}) == len(one.sources)
    addresses = [snapshot.named("site_kept").frames[0].address for snapshot in (one, other)]
    assert addresses[0] != addresses[1], "addresses are not randomised here: this shows nothing"


def test_threads(bench: Bench) -> None:
    recording = record(bench, "threads").recording
    snapshots = log_of(recording)
    assert contradictions(snapshots, is_threaded=True) == []
    assert allocated(snapshots, "site_passing") == 6 * 1000 * ROUNDS
    assert allocated(snapshots, "site_thread") == 4 * 1000 * ROUNDS


@pytest.mark.parametrize("churn", ["64k", "10M", "0"])
def test_the_threshold_is_the_users(bench: Bench, churn: str) -> None:
    recording = record(bench, HEAPGLASS_CHURN=churn).recording
    snapshots = log_of(recording)
    threshold = {"64k": 65536, "10M": 10 << 20, "0": 0}[churn]
    assert contradictions(snapshots) == []
    assert {snapshot.threshold for snapshot in snapshots} == {threshold}
    crossings = ROUNDS * BYTES_A_ROUND // threshold if threshold else 0
    # Each goes over by less than one block, so a few fewer fit.
    assert crossings * 0.98 <= len(snapshots) - 1 <= crossings


def test_a_forked_child_has_a_log_of_its_own(bench: Bench) -> None:
    run = record(bench, "fork", HEAPGLASS_SNAPSHOT_LOG="by churn.log")
    parent, child = sorted(run.recordings, key=lambda r: r.process.is_forked)
    ours, theirs = log_of(parent, "by churn.log"), log_of(child, "by churn.log.{pid}")
    assert contradictions(ours) == contradictions(theirs) == []
    assert allocated(ours, "site_kept") == 2 * 24 * ROUNDS
    assert allocated(theirs, "site_kept") == allocated(theirs, "site_child") - 1000 * ROUNDS
    assert theirs[-1].named("site_kept").live == 24 * ROUNDS


def test_exec_ends_one_log_and_begins_another(bench: Bench) -> None:
    run = record(bench, "exec", SOURCES.path(), str(ROUNDS))
    pid = run.recordings[0].process.pid
    directory = Path(run.recordings[0].name).parent
    logs = [parse_log((directory / f"pmem.{pid}.log{end}").read_text()) for end in ("", ".2")]
    for snapshots in logs:
        assert contradictions(snapshots) == []
        assert snapshots[-1].named("site_kept").live == 24 * ROUNDS


def test_relative_names_stay_where_the_program_started(bench: Bench) -> None:
    snapshots = log_of(record(bench, "cd", "/").recording)
    assert contradictions(snapshots) == []
    assert snapshots[-1].sources[0].allocated_in_all == 24 * ROUNDS


def test_nothing_is_overwritten_and_no_link_followed(bench: Bench, tmp_path: Path) -> None:
    target, link, old = tmp_path / "target", tmp_path / "link", tmp_path / "old"
    target.write_text("kept")
    link.symlink_to(target)
    old.write_text("kept")
    for name in (link, old):
        recording = record(bench, HEAPGLASS_SNAPSHOT_LOG=str(name)).recording
        log = tmp_path / f"{name.name}.{recording.process.pid}"
        assert contradictions(parse_log(log.read_text())) == []
        assert log.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == old.read_text() == "kept"


def test_sampled_recordings_have_estimates(bench: Bench) -> None:
    recording = record(bench, HEAPGLASS_SAMPLE="1k", HEAPGLASS_SEED="5").recording
    snapshots = log_of(recording)
    assert contradictions(snapshots) == []
    # The sites as the recording has them are summed from the same samples.
    table = recording.sites()
    assert sum(s.allocated_in_all for s in snapshots[-1].sources) == table.bytes_allocated.sum()


def test_no_log_unless_asked(bench: Bench) -> None:
    recording = bench.compare(SOURCES.argv((str(ROUNDS),))).recording
    assert [path.suffix for path in Path(recording.name).parent.iterdir()] == [".heapglass"]
    assert recording.recorder.snapshot_churn_bytes == 0
    assert recording.losses.unwritten_outputs == 0


@pytest.mark.parametrize(
    "name",
    ["errno_kept", "exits", "fds", "fork_busy", "jumps", "signal_storm", "small_stacks", "title"],
)
def test_no_program_notices(bench: Bench, name: str) -> None:
    """Those that are easily disturbed, with a snapshot every few dozen events."""
    ours = {"HEAPGLASS_PMEM": "1", "HEAPGLASS_CHURN": "20k", "HEAPGLASS_LEAKS": "left.%p"}
    chosen = program(name)
    setting = setting_for(chosen)
    setting = replace(setting, environment={**setting.environment, **ours})
    run = bench.compare(chosen.argv(chosen.cases[0]), setting)
    for recording in run.recordings:
        assert contradictions(log_of(recording), is_threaded=True) == []
