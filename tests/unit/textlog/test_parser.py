"""What the parser takes, what it complains about, and that cuts between blocks do not matter."""

from __future__ import annotations

from random import Random

import pytest

from heapglass.textlog.log import Log, replay_log
from recordings.made_log import MadeLog
from unit.textlog.test_replay import pieces, site_rows

# As in malloc-stat's own text.
SEED_LOG = b"""\
# PID 5625
# EXE /usr/bin/gedit
# CWD /srv/malloc-stat/src
# MAPS

00400000-00452000 r-xp 00000000 08:02 173521 /no/such/gedit

+ INIT 32 0x7f1a9b04e140
-
+ malloc 40 0xadf010
-
+ malloc 24 0x1db9360
-
+ free 24 0x1db9360
-
"""


def read(text: bytes) -> Log:
    return replay_log("log", [text])


def complaints(log: Log) -> list[tuple[int, str]]:
    return sorted((problem.line, problem.what) for problem in log.problems.first)


def test_the_log_of_the_founding_text() -> None:
    log = read(SEED_LOG)
    (heap,) = log.heaps
    assert complaints(log) == []
    assert heap.process.pid == 5625
    assert heap.process.executable == "/usr/bin/gedit"
    assert heap.process.working_directory == "/srv/malloc-stat/src"
    assert (heap.totals.allocations, heap.totals.frees) == (2, 1)
    assert (heap.totals.live_bytes, heap.totals.peak_bytes) == (40, 64)
    assert heap.blocks().address.tolist() == [0xADF010]
    assert not heap.replay.notes.has_ended
    assert [module.path for module in heap.modules] == ["/no/such/gedit"]


def test_what_malloc_stat_really_writes() -> None:
    text = (
        b"INIT\n# PID 7\n# EXE /bin/x\n+ INIT 0 0x55 7 7\n+ malloc 24 0x10 7 7\n"
        b"+ realloc-malloc 24 0x20 7 8\n+ realloc-realloc 40 0x90 7 7\n+ free 0 (nil) 7 7\n"
        b"+ free 24 0x10 7 7\n+======\n| allocs  : 3, deallocs: 1\n+======\n+ FINI\n-\n"
    )
    log = read(text)
    (heap,) = log.heaps
    assert complaints(log) == []
    assert log.unclosed == 6
    assert (heap.totals.allocations, heap.totals.frees, heap.totals.live_bytes) == (3, 1, 64)
    assert heap.replay.faults.vague_moves == 1
    assert [thread.tid for thread in heap.threads] == [7, 8]
    assert heap.replay.notes.has_ended


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_may_be_cut_anywhere(size: int) -> None:
    text = MadeLog(8).run(60).text()
    whole, cut = read(text), replay_log("log", pieces(text, size))
    assert cut.problems.count == 0
    assert (cut.lines, cut.entries) == (whole.lines, whole.entries)
    assert site_rows(cut.heaps[0]) == site_rows(whole.heaps[0])
    assert cut.heaps[0].replay.live.line.tolist() == whole.heaps[0].replay.live.line.tolist()


def test_carriage_returns_and_blanks_change_nothing() -> None:
    text = MadeLog(9).run(60).text()
    plain = read(text)
    odd = read(text.replace(b"\n", b"\r\n").replace(b"+ malloc ", b"+  malloc\t"))
    assert odd.problems.count == 0
    assert site_rows(odd.heaps[0]) == site_rows(plain.heaps[0])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"nonsense", "a line that belongs to nothing"),
        (b"-", "a closing line with nothing to close"),
        (b"# WHAT 7", "a header line of an unknown kind"),
        (b"# PID 99999999999", "a header line of an unknown kind"),
        (b"# TIME 12", "a header line of an unknown kind"),
        (b"+ mallox 1 0x10\n-", "an entry of an unknown type"),
        (b"+ malloc\n-", "an entry without size and address"),
        (b"+ malloc 12 0xzz\n-", "an entry that makes no sense"),
        (b"+ malloc -12 0x10\n-", "an entry that makes no sense"),
        (b"+ malloc 999999999999999 0x10\n-", "an entry of an impossible size"),
        (b"+ malloc 18446744073709551616 0x0\n-", "an entry of an impossible size"),
        (b"+ malloc 18446744073709551615 0x10\n-", "an entry of an impossible size"),
        (b"+ malloc 1 0x10 4294967296 1\n-", "an entry of an impossible process or thread"),
        (b"+ malloc 1 0x10 1 2 3 4\n-", "an entry that makes no sense"),
    ],
)
def test_what_is_not_understood_has_its_line(line: bytes, what: str) -> None:
    log = read(SEED_LOG + line + b"\n+ malloc 8 0x40\n-\n")
    assert complaints(log) == [(16, what)]
    assert log.heaps[0].totals.live_bytes == 48


def test_calls_that_fail_may_have_asked_for_anything() -> None:
    log = read(
        SEED_LOG
        + b"+ malloc 18446744073709551615 0x0\n-\n+ calloc 1125899906842624 (nil)\n-\n"
        + b"+ realloc-alloc 36028797018963968 0x0\n-\n+ malloc 16 0x0\n-\n+ malloc 8 0x40\n-\n"
    )
    assert complaints(log) == []
    assert log.heaps[0].replay.faults.failed == 4
    assert log.heaps[0].totals.live_bytes == 48


def test_a_line_in_a_stack_that_is_no_frame() -> None:
    log = read(b"+ malloc 8 0x40\n0x5000\nwhat?\n/bin/x(main+0x1) [0x6000]\n0x0\n-\n")
    assert complaints(log) == [
        (3, "a line in a stack that is no frame"),
        (5, "a line in a stack that is no frame"),
    ]
    (heap,) = log.heaps
    frames = heap.stack(int(heap.sites().id[0])).frames
    assert [frame.address for frame in frames] == [0x5000, 0x6000]


def test_the_list_of_complaints_is_bounded() -> None:
    log = read(SEED_LOG + b"what?\n" * 5000)
    assert log.problems.count == 5000
    assert len(log.problems.first) == 100


def test_a_line_without_end_is_not_believed() -> None:
    log = read(SEED_LOG + b"+ malloc 8 0x4")
    assert log.is_cut
    assert complaints(log) == [(16, "the log ends within this line")]
    assert log.heaps[0].totals.live_bytes == 40


def test_an_entry_that_was_not_closed_counts() -> None:
    log = read(SEED_LOG + b"+ malloc 8 0x40\n")
    assert (log.unclosed, log.problems.count) == (1, 0)
    assert log.heaps[0].totals.live_bytes == 48


def test_two_processes_in_one_log() -> None:
    text = (
        b"# PID 1\n# EXE /a\n+ INIT 0 0x0 1 1 1\n-\n+ malloc 8 0x10 1 1 2\n-\n"
        b"# PID 2\n# EXE /b\n+ INIT 0 0x0 2 2 1\n-\n+ malloc 9 0x10 2 2 2\n-\n"
        b"+ free 8 0x10 1 1 3\n-\n# DROPPED 5 1\n+ malloc 7 0x20 2 2 3\n-\n+ FINI 0 0x0 2 2 9\n-\n"
    )
    log = read(text)
    heaps = {heap.process.pid: heap for heap in log.heaps}
    assert complaints(log) == []
    assert {pid: heap.process.executable for pid, heap in heaps.items()} == {1: "/a", 2: "/b"}
    assert {pid: heap.totals.live_bytes for pid, heap in heaps.items()} == {1: 0, 2: 16}
    assert {pid: heap.replay.notes.dropped for pid, heap in heaps.items()} == {1: 5, 2: 0}
    assert {pid: heap.replay.notes.has_ended for pid, heap in heaps.items()} == {1: False, 2: True}


def test_header_lines_beyond_the_first_block() -> None:
    """Each stretch between them is numbered for itself."""
    first = b"# PID 1\n" + b"".join(
        b"+ malloc 8 0x%x 1 1 %d\n-\n" % (16 * n, n) for n in range(1, 9)
    )
    second = b"".join(
        b"# PID %d\n+ INIT 0 0x0 %d %d 1\n-\n+ malloc 9 0x10 %d %d 2\n0x1234560\n-\n" % ((n,) * 5)
        for n in range(2, 7)
    )
    log = replay_log("log", [first, second, b"+ FINI 0 0x0 6 6 3\n-\n"])
    assert complaints(log) == []
    live = {heap.process.pid: heap.totals.live_bytes for heap in log.heaps}
    assert live == {1: 64, **dict.fromkeys(range(2, 7), 9)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "it may have been killed"),
        (b"# FLUSH entry 7\n", "the log has every call before that"),
        (b"# FLUSH 10ms 7\n", "at most its last 10 ms are missing here"),
        (b"# FLUSH reader 7\n", "what the log's reader had not taken"),
        (b"# FLUSH 10ms 7\n# ABORTED 7\n", "called abort(): the log has every call"),
    ],
)
def test_a_log_without_its_end_says_what_may_be_missing(line: bytes, said: str) -> None:
    log = read(b"# PID 7\n+ INIT 0 0x0 7 7 1\n-\n" + line)
    (heap,) = log.heaps
    assert complaints(log) == []
    assert said in " ".join(heap.notes)


@pytest.mark.parametrize("line", [b"# FLUSH soon 7", b"# FLUSH entry", b"# ABORTED"])
def test_what_it_says_of_that_must_make_sense(line: bytes) -> None:
    assert complaints(read(SEED_LOG + line + b"\n")) == [(16, "a header line of an unknown kind")]


def test_notes_are_for_people() -> None:
    log = read(SEED_LOG + b"# NOTE leaked 1 block, 40 bytes\n# NOTE\n+ FINI\n-\n")
    assert complaints(log) == []


def test_a_newline_in_a_path_is_undone() -> None:
    maps = b"# MAPS\n1000000-2000000 r-xp 00000000 fe:01 1 /no/such/a\\012b\n"
    log = read(b"# PID 1\n# EXE /no/such/a?b\n" + maps + b"+ malloc 8 0x10\n0x1234560\n-\n")
    ((module,),) = (heap.modules for heap in log.heaps)
    assert (module.path, module.is_main) == ("/no/such/a\nb", True)


def test_a_module_in_the_place_of_another_is_another() -> None:
    maps = b"# MAPS\n1000000-2000000 r-xp 00000000 fe:01 1 /no/such/%s.so\n"
    entry = b"+ malloc 8 0x%x\n0x1234560\n-\n"
    log = read(
        b"# PID 1\n"
        + maps % b"one"
        + entry % 16
        + maps % b"two"
        + entry % 32
        + maps % b"one"
        + entry % 48
    )
    (heap,) = log.heaps
    paths = {
        heap.modules[heap.stack(site).frames[0].module].path: blocks
        for site, blocks in zip(
            heap.sites().id.tolist(), heap.sites().live_blocks.tolist(), strict=True
        )
    }
    assert paths == {"/no/such/one.so": 2, "/no/such/two.so": 1}


@pytest.mark.parametrize("seed", range(20))
def test_garbled_logs_are_read_without_fail(seed: int) -> None:
    """Whatever happens to the bytes: no error, and every line is accounted for."""
    random = Random(seed)  # noqa: S311
    text = bytearray(MadeLog(seed).run(80).text())
    for _ in range(random.randrange(1, 60)):
        at = random.randrange(len(text))
        match random.randrange(3):
            case 0:
                text[at] = random.randrange(256)
            case 1:
                del text[at : at + random.randrange(40)]
            case _:
                text[at:at] = random.choice([b"\n", b" ", b"\0", b"+ ", b"#", b"9" * 30])
    log = replay_log("log", pieces(bytes(text), 500))
    assert log.lines == text.count(b"\n")
    for heap in log.heaps:
        table, totals = heap.sites(), heap.totals
        assert int(table.live_bytes.sum()) == totals.live_bytes == int(heap.blocks().size.sum())
        assert int(table.live_blocks.sum()) == totals.live_blocks
        assert int(table.peak_bytes.sum()) == totals.peak_bytes
