"""What it costs to name the addresses of a big C++ program, the first time and ever after.

    bench/symbols.py [--addresses N] [--units N]

Builds a program of many units full of templates, with debug information (once, in build/), takes N
of its addresses, and names them in a process of its own each time: with an empty cache, and with
what that left in it. Prints processor time, memory and the sizes of the files;
llvm-symbolizer on the same addresses stands beside it, where it is installed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(__file__).resolve().parents[1] / "build" / "bench-symbols"
SOURCE = Path(__file__).resolve().parents[1] / "tests/unit/symbols/programs/crowd.cpp"
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t", re.MULTILINE)
CHILD = """
import json, resource, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from unit.symbols.toolchain import BIAS, module_of
from heapglass.model import FrameAddress
from heapglass.symbols.symbolizer import Symbolizer
addresses = [FrameAddress(a + BIAS, 0) for a in json.loads(Path(sys.argv[2]).read_text())]
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
symbolizer = Symbolizer([module_of(Path(sys.argv[1]))], Path(sys.argv[3]))
found = symbolizer.resolve(addresses)
seconds = time.process_time() - start
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
frames = sum(map(len, found.values()))
print(json.dumps([seconds, (after - before) / 1024, after / 1024, frames]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/symbols.py")
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--units", type=int, default=12)
    options = parser.parse_args()
    program = build(options.units)
    addresses = spread(instructions(program), options.addresses)
    with tempfile.TemporaryDirectory(dir=BUILD) as name:
        measure(program, addresses, Path(name))
    return 0


def build(units: int) -> Path:
    """Units that differ in their template arguments, so that nothing is folded."""
    program = BUILD / f"crowd-{units}"
    if program.exists():
        return program
    BUILD.mkdir(parents=True, exist_ok=True)
    objects = []
    for number in range(units):
        text = SOURCE.read_text().replace("namespace crowd", f"namespace crowd{number}")
        text = text.replace("crowd::", f"crowd{number}::").replace("fill<9>", "fill<25>")
        text = text.replace("int main(", f"int main{number or ''}(")
        path = BUILD / f"unit{number}.cpp"
        path.write_text(text)
        objects.append(path.with_suffix(".o"))
        print(f"compiling {path.name}", file=sys.stderr)
        compile_ = ["g++", "-O2", "-g", "-std=c++20", "-c", path, "-o", objects[-1]]
        subprocess.run(compile_, check=True)
    subprocess.run(["g++", *objects, "-o", program], check=True)
    return program


def instructions(program: Path) -> list[int]:
    command = ["objdump", "-d", "-j", ".text", "--no-show-raw-insn", program]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [int(address, 16) for address in INSTRUCTION.findall(listing)]


def spread(addresses: list[int], count: int) -> list[int]:
    return addresses[:: max(1, len(addresses) // count)][:count]


def measure(program: Path, addresses: list[int], directory: Path) -> None:
    size = program.stat().st_size / 1e6
    print(f"{len(addresses):,} addresses of a C++ program of {size:.0f} MB")
    cache, list_ = directory / "cache", directory / "addresses"
    list_.write_text(json.dumps(addresses))
    show("first time", run(program, list_, cache))
    kept = sum(entry.stat().st_size for entry in cache.iterdir()) / 1e6
    show("second time", run(program, list_, cache))
    print(f"  the cache takes {kept:.1f} MB")
    beside(program, addresses)


def run(program: Path, addresses: Path, cache: Path) -> list[float]:
    tests = str(SOURCE.parents[3])
    words = [sys.executable, "-c", CHILD, program, addresses, cache, tests]
    result = subprocess.run(words, check=True, capture_output=True, text=True)
    numbers: list[float] = json.loads(result.stdout)
    return numbers


def show(what: str, numbers: list[float]) -> None:
    seconds, more, peak, frames = numbers
    print(
        f"  {what:24} {seconds:5.1f} s of processor time, {more:5.0f} MB more memory"
        f" ({peak:.0f} in all), {frames:,.0f} frames"
    )


def beside(program: Path, addresses: list[int]) -> None:
    tool = shutil.which("llvm-symbolizer")
    if tool is None:
        return
    text = "".join(f"{address - 1:#x}\n" for address in addresses)
    command = ["/usr/bin/env", "bash", "-c", 'TIMEFORMAT="%U %S"; time "$@" >/dev/null', "-"]
    command += [tool, f"--obj={program}", "--inlines"]
    result = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
    user, system = map(float, result.stderr.split()[-2:])
    print(f"  {'llvm-symbolizer':24} {user + system:5.1f} s of processor time")


if __name__ == "__main__":
    sys.exit(main())
