"""Debug information from servers: a real debuginfod on loopback, and servers that misbehave."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from heapglass.symbols.files.debuginfod import Debuginfod
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import calls_in, look_up, module_of, run

INLINED = [("leaf", 8), ("middle", 13), ("outer", 18)]


@pytest.fixture
def stripped(chain: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "bin" / "chain"
    copy.parent.mkdir()
    shutil.copy2(chain, copy)
    run("strip", "--strip-all", copy)
    return copy


@pytest.fixture(scope="module")
def server(chain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One that has the program's debug information."""
    directory = tmp_path_factory.mktemp("server")
    files = directory / "files"
    files.mkdir()
    run("objcopy", "--only-keep-debug", chain, files / "chain.debug")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["debuginfod", "-F", "-d", directory / "db.sqlite", "-p", str(port), files]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env={"HOME": str(directory)})
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(f"{url}/buildid/{module_of(chain).build_id}/debuginfo")
        yield url
    finally:
        process.terminate()
        process.wait()


def wait_for(url: str) -> None:
    """Until the server has scanned its files."""
    until = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 (http)
                answer.read()
                return
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def own_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DEBUGINFOD_URLS", "DEBUGINFOD_CACHE_PATH", "HEAPGLASS_DEBUGINFOD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))


def symbolizer_of(program: Path, tmp_path: Path, said: list[str] | None = None) -> Symbolizer:
    say = said.append if said is not None else list[str]().append
    return Symbolizer([module_of(program)], tmp_path / "cache" / "symbols", [], say=say)


def test_a_server_is_asked_only_when_that_is_allowed(
    server: str, chain: Path, stripped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = calls_in(chain, "outer")[0]
    said: list[str] = []
    monkeypatch.setenv("DEBUGINFOD_URLS", server)
    assert look_up(symbolizer_of(stripped, tmp_path, said), address) == [("", 0)]
    assert not any("127.0.0.1" in text for text in said)
    monkeypatch.setenv("HEAPGLASS_DEBUGINFOD", "1")
    symbolizer = symbolizer_of(stripped, tmp_path, said)
    assert look_up(symbolizer, address) == INLINED
    assert symbolizer.warnings == []
    assert any("fetching" in text and "100 %" in text for text in said)


def test_what_was_fetched_is_kept(
    server: str, chain: Path, stripped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = calls_in(chain, "outer")[0]
    with monkeypatch.context() as allowed:
        allowed.setenv("DEBUGINFOD_URLS", server)
        allowed.setenv("HEAPGLASS_DEBUGINFOD", "1")
        assert look_up(symbolizer_of(stripped, tmp_path), address) == INLINED
    assert look_up(symbolizer_of(stripped, tmp_path), address) == INLINED


def test_what_the_client_fetched_is_used(chain: Path, stripped: Path, tmp_path: Path) -> None:
    kept = tmp_path / "home" / "debuginfod_client" / module_of(chain).build_id
    kept.mkdir(parents=True)
    run("objcopy", "--only-keep-debug", chain, kept / "debuginfo")
    assert look_up(symbolizer_of(stripped, tmp_path), calls_in(chain, "outer")[0]) == INLINED


class Misbehaving(BaseHTTPRequestHandler):
    how = ""
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        if self.how == "slow":
            self.rfile.read(1)  # until the other side gives up
            return
        if self.how in ("missing", "broken"):
            self.send_error(404 if self.how == "missing" else 500)
            return
        self.send_response(200)
        body = b"\x7fELF of something else"
        self.send_header("Content-Length", str(len(body) + 100 * (self.how == "short")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def misbehaving(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Misbehaving]]:
    handler = type("Handler", (Misbehaving,), {"asked": 0})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HEAPGLASS_DEBUGINFOD", "1")
    monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "1")
    yield handler
    server.shutdown()
    thread.join()
    server.socket.close()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("broken", "500"),
        ("other", "not what was asked for"),
        ("short", "broke off"),
        ("slow", "timed out"),
    ],
)
def test_a_server_that_fails_is_named_and_not_asked_again(
    how: str, words: str, misbehaving: type[Misbehaving], stripped: Path, tmp_path: Path
) -> None:
    misbehaving.how = how
    symbolizer = symbolizer_of(stripped, tmp_path)
    assert look_up(symbolizer, 0x1200) == [("", 0)]
    (warning,) = symbolizer.warnings
    assert words in warning
    assert misbehaving.asked == 1
    assert not list((tmp_path / "cache" / "debuginfod").iterdir())


def test_what_a_server_does_not_have_is_not_asked_for_again_at_once(
    misbehaving: type[Misbehaving], chain: Path, stripped: Path, tmp_path: Path
) -> None:
    misbehaving.how = "missing"
    for _ in range(3):
        symbolizer = symbolizer_of(stripped, tmp_path)
        assert look_up(symbolizer, calls_in(chain, "outer")[0]) == [("", 0)]
        assert symbolizer.warnings == []
    assert misbehaving.asked == 1


def test_an_odd_build_id_is_never_part_of_a_path(tmp_path: Path) -> None:
    servers = Debuginfod({"HEAPGLASS_DEBUGINFOD": "1"}, tmp_path, lambda _: None)
    assert servers.find("../../etc/passwd") == ""
    assert "DEBUGINFOD_URLS" in servers.warnings[0]
