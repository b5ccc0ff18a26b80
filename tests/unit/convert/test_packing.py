"""A packed recording is the recording: every version, every table, and nothing besides."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.golden import as_text, contents, unpacked
from harness.programs import TESTS
from heapglass.convert.packing import pack
from heapglass.convert.redaction import Redactor
from heapglass.errors import ExportError, RecordingError
from heapglass.packfile.container import is_packed
from heapglass.recording import open_recording
from heapglass.symbols.naming import names_of
from heapglass.views.doctor import build_doctor

RECORDINGS = sorted((TESTS / "golden").glob("format-*/*.heapglass.gz"))


def silent(_: str) -> None:
    pass


@pytest.fixture(params=RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.name[:6]}")
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpacked(request.param, tmp_path)


def everything(path: Path) -> str:
    with open_recording(path) as source:
        document = contents(source)
    document["summary"].pop("source", None)
    document["table"].pop("source", None)
    return as_text(document)


@pytest.mark.slow
def test_all_that_is_read_stays(recording: Path, tmp_path: Path) -> None:
    packed, again = tmp_path / "packed", tmp_path / "again"
    pack(str(recording), packed, None, silent)
    assert is_packed(packed)
    assert packed.stat().st_size < recording.stat().st_size // 10
    expected = everything(recording).replace(str(recording), str(packed))
    assert everything(packed) == expected
    pack(str(packed), again, None, silent)
    assert everything(again) == expected.replace(str(packed), str(again))


@pytest.mark.slow
def test_redacted_numbers_stay(recording: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    pack(str(recording), packed, Redactor("key"), silent)
    with open_recording(recording) as before, open_recording(packed) as after:
        assert after.totals == before.totals
        assert [m.start for m in after.modules] == [m.start for m in before.modules]
        for one, other in zip(before.threads, after.threads, strict=True):
            assert (one.tid, one.allocations) == (other.tid, other.allocations)
        for site in before.sites().id.tolist():
            assert after.stack(site) == before.stack(site)
        assert before.process.host == "golden" != after.process.host


def test_nothing_private_is_left(tmp_path: Path) -> None:
    recording = unpacked(TESTS / "golden" / "format-2" / "parent.heapglass.gz", tmp_path)
    packed = tmp_path / "packed"
    pack(str(recording), packed, Redactor(), silent)
    with open_recording(recording) as before, open_recording(packed) as after:
        image = after._file.read(0, after._file.status.st_size)
        texts = [m.path for m in before.modules if m.is_main]
        texts += [t.name for t in before.threads if len(t.name) > 4]
        texts += [*before.process.argv, before.process.host, before.process.working_directory]
        texts += [m.build_id for m in before.modules if m.is_main and m.build_id]
    private = {part for text in texts for part in text.split("/") if len(part) > 4}
    assert {"golden", "everything", "reader", "writer"} <= private
    for text in private - {"build"}:
        assert text.encode() not in image
        assert text not in image.hex()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("packed")
    recording = unpacked(TESTS / "golden" / "format-2" / "child.heapglass.gz", directory)
    pack(str(recording), directory / "whole", None, silent)
    return directory / "whole"


def test_it_is_as_large_as_its_file(packed: Path) -> None:
    """Not as what is in it, which has holes."""
    with open_recording(packed) as source:
        assert source.workings.place.length_bytes == packed.stat().st_size
        assert all("sparse" not in one.text for one in build_doctor(source).findings)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_damage_is_an_error_of_ours_or_no_harm(packed: Path, data: st.DataObject) -> None:
    whole = bytearray(packed.read_bytes())
    broken = packed.with_name("broken")
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] ^= data.draw(st.integers(1, 255))
    else:
        del whole[data.draw(st.integers(8, len(whole) - 1)) :]
    broken.write_bytes(whole)
    with suppress(RecordingError), open_recording(broken) as source:
        names_of(source).resolve(source.stack(int(source.sites().id[0])).frames)


def test_a_newer_version_is_said(packed: Path, tmp_path: Path) -> None:
    newer = bytearray(packed.read_bytes())
    newer[8] = 99
    path = tmp_path / "newer"
    path.write_bytes(newer)
    with pytest.raises(RecordingError, match="newer heapglass"):
        open_recording(path)


def test_what_cannot_be_written_is_said_and_leaves_nothing(packed: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot be written"):
        pack(str(packed), tmp_path / "no" / "where", None, silent)
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(RecordingError, match="not a heapglass recording"):
        pack(str(text), tmp_path / "out", None, silent)
    assert not (tmp_path / "out").exists()
