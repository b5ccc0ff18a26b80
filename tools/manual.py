"""Man pages, made of docs/commands and of what the commands' modules say of themselves.

One for each command and one for them all. `python tools/manual.py DIRECTORY` writes them; the wheel
gets them from hatch_build.py. Nothing of the package is imported: where a wheel is built, what it
needs is not installed. tests/unit/cli/test_manual.py sees to it that docs/commands has the options
that the commands have.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import normpath
from textwrap import dedent
from typing import Any

SUMMARY = "show which call stacks own the memory of a native Linux program"
INTRODUCTION = """\
`heapglass run` records every allocation of a program, with the call stack it comes from, in a file:
the recording. The other commands show what is in it, while the program runs and after it has ended,
or was killed. Each has a page of its own, and says with `--help` what it takes.
"""
START = "heapglass run -o a.heapglass ./program && heapglass summary a.heapglass"
_SHARED = {"include": "lib"}  # commands that are explained on another one's page
_CHARACTERS = {
    "\\": r"\[rs]",
    "-": r"\-",
    "'": r"\[aq]",
    "`": r"\[ga]",
    "^": r"\[ha]",
    "~": r"\[ti]",
    '"': r"\[dq]",
}
# The command itself, what stands in brackets, or whatever blanks are around.
_WORD = re.compile(r"heapglass(?: [a-z]+)?|\[(?:[^\[\]]|\[[^\]]*\])*\]\S*|\S+")
_INLINE = re.compile(
    r"(?P<tick>`+)(?P<code>.+?)(?P=tick)"
    r"|\[(?P<text>(?:[^\]`]|`[^`]*`)+)\]\((?P<target>[^)]+)\)"
    r"|\*\*(?P<bold>[^*]+)\*\*"
    r"|(?<!\w)\*(?P<italic>[^*\s](?:[^*]*[^*\s])?)\*(?!\w)"
)


def write_pages(root: Path, directory: Path) -> list[Path]:
    """The pages of the checkout at `root`."""
    constants = _constants(root / "src/heapglass/cli/main.py")
    commands, groups = constants["COMMANDS"], constants["GROUPS"]
    version = _constants(root / "src/heapglass/__init__.py")["__version__"]
    pages = {"heapglass": _overview(commands, groups)}
    for name, summary in commands.items():
        pages[f"heapglass-{name}"] = (
            f".so man1/heapglass-{_SHARED[name]}.1\n"
            if name in _SHARED
            else _page(root, name, summary, _names_on(name, commands))
        )
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in pages.items():
        path = directory / f"{name}.1"
        head = "" if text.startswith(".so ") else _head(name, version)
        path.write_text(head + text, encoding="ascii")
        written.append(path)
    return written


def _head(name: str, version: str) -> str:
    title = f'.TH {name.upper()} 1 "" "heapglass {version}" "heapglass"'
    return f'.\\" Made by tools/manual.py; docs/commands is what to change.\n{title}\n.nh\n.ad l\n'


def _constants(path: Path) -> dict[str, Any]:
    """What a module's names are set to, of those that are plain values."""
    found = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def _names_on(name: str, commands: Mapping[str, str]) -> dict[str, str]:
    """The commands that a page explains."""
    return {one: commands[one] for one in commands if one == name or _SHARED.get(one) == name}


# ---- pages ------------------------------------------------------------------------------------


def _overview(commands: Mapping[str, str], groups: Mapping[str, Sequence[str]]) -> str:
    lines = [".SH NAME", f"heapglass \\- {SUMMARY}", ".SH SYNOPSIS"]
    lines += _synopsis(["heapglass COMMAND [ARGUMENT]...", "heapglass --version | --help"])
    lines += [".SH DESCRIPTION", *_blocks(INTRODUCTION.splitlines(), ""), ".SH COMMANDS"]
    listed = {name for names in groups.values() for name in names}
    rest = [name for name in commands if name not in listed]
    for group, names in {**groups, "more": rest}.items():
        if names:
            lines.append(f".SS {_escape(group.capitalize())}")
            for name in names:
                lines += [".TP", f".BR heapglass\\-{name} (1)", _escape(commands[name])]
    lines += [".SH EXAMPLES", *_code([START])]
    return "\n".join(lines) + "\n"


def _page(root: Path, name: str, summary: str, names: Mapping[str, str]) -> str:
    text = (root / "docs/commands" / f"{name}.md").read_text(encoding="utf-8")
    heads = ", ".join(f"heapglass\\-{one}" for one in names)
    what = summary if len(names) == 1 else "; ".join(names.values())
    start = re.match(r"# .+\n\n```\n(heapglass [^`]+)```\n", text)
    if start is None:
        raise SystemExit(f"docs/commands/{name}.md does not begin with how it is called")
    synopsis, body = start[1], text[start.end() :]
    lines = [".SH NAME", f"{heads} \\- {_escape(what)}", ".SH SYNOPSIS"]
    lines += [*_synopsis(synopsis.splitlines()), ".SH DESCRIPTION"]
    lines += _blocks(body.splitlines(), name)
    if ".SH EXAMPLES" not in lines:
        examples = [line for one in names for line in _examples(root, one)]
        lines += [".SH EXAMPLES", *_code(examples)]
    lines += _see_also([link for link in _linked(text) if link not in names])
    return "\n".join(lines) + "\n"


def _examples(root: Path, name: str) -> list[str]:
    """Those that --help has."""
    text = _constants(root / "src/heapglass/cli" / f"{name}.py")["_EXAMPLES"]
    return dedent(text.partition("examples:\n")[2]).splitlines()


def _linked(text: str) -> list[str]:
    """The commands that a text leads to, each once."""
    return list(dict.fromkeys(re.findall(r"\]\((\w+)\.md(?:#[^)]*)?\)", text)))


def _see_also(names: Sequence[str]) -> list[str]:
    pages = ["heapglass", *(f"heapglass-{name}" for name in names)]
    ends = ["," if one != pages[-1] else "" for one in pages]
    return [
        ".SH SEE ALSO",
        *(f".BR {_escape(one)} (1){end}" for one, end in zip(pages, ends, strict=True)),
    ]


def _synopsis(lines: Sequence[str]) -> Iterator[str]:
    """Each command with its arguments, which are filled into lines; none is broken."""
    commands: list[str] = []
    for line in lines:
        if line.startswith("heapglass"):
            commands.append(line)
        else:
            commands[-1] += f" {line.strip()}"
    for command in commands:
        head, *words = re.findall(
            r"heapglass(?: [a-z]+)?|\[(?:[^\[\]]|\[[^\]]*\])*\]\S*|\S+", command
        )
        yield from (".HP", rf"\fB{_unbreakable(head)}\fP", *map(_unbreakable, words))


def _unbreakable(text: str) -> str:
    """In one piece, and no end of a sentence, after which there would be more room."""
    return _escape(text).replace(" ", r"\ ") + (r"\&" if text.endswith(".") else "")


# ---- Markdown, as far as docs/commands uses it ------------------------------------------------


def _blocks(lines: Sequence[str], page: str) -> Iterator[str]:
    """The roff of lines of Markdown."""
    rest = list(lines)
    while rest:
        line = rest[0]
        if not line.strip():
            rest.pop(0)
        elif line.startswith("#"):
            rest.pop(0)
            marks, _, title = line.partition(" ")
            words = title.upper() if len(marks) == 2 else title
            yield f".{'SH' if len(marks) == 2 else 'SS'} {_escape(words)}"
        elif line.startswith("```"):
            rest.pop(0)
            yield from _code(_take(rest, lambda one: not one.startswith("```")))
            rest.pop(0)
        elif line.startswith("|"):
            yield from _table(_take(rest, lambda one: one.startswith("|")), page)
        elif mark := re.match(r"(-|\d+\.) ", line):
            item = [rest.pop(0)[mark.end() :]]
            item += _take(rest, lambda one: one.startswith("  ") and bool(one.strip()))
            tag = r"\[bu]" if mark[1] == "-" else mark[1]
            yield f".IP {tag} {len(mark[1]) + 1}"
            yield _inline(" ".join(part.strip() for part in item), page)
        else:
            yield ".PP"
            words = _take(rest, lambda one: bool(one.strip()) and not _is_start(one))
            yield _inline(" ".join(words), page)


def _is_start(line: str) -> bool:
    """Of something else than a paragraph."""
    return bool(re.match(r"#|```|\||- |\d+\. ", line))


def _take(rest: list[str], belongs: Any) -> list[str]:  # noqa: ANN401 (a function of a line)
    taken = []
    while rest and belongs(rest[0]):
        taken.append(rest.pop(0))
    return taken


def _code(lines: Sequence[str]) -> list[str]:
    return [".PP", ".RS 4", ".nf", *map(_line, lines), ".fi", ".RE"]


def _line(text: str) -> str:
    """One line as it is: nothing at its beginning is a request."""
    escaped = _escape(text)
    return rf"\&{escaped}" if escaped.startswith((".", "\\[aq]")) else escaped


def _table(rows: Sequence[str], page: str) -> Iterator[str]:
    """A list: of each row the first cell as its head. That of options has a section."""
    cells = [
        [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        for row in rows
    ]
    titles, _, *body = cells
    if titles[0] == "option":
        yield ".SH OPTIONS"
    for head, *others in body:
        yield ".TP"
        yield _inline(head, page) or r"\&"
        if len(others) == 1:
            yield _inline(others[0], page) or r"\&"
        else:
            named = zip(titles[1:], others, strict=True)
            yield _inline("; ".join(f"*{title}*: {cell}" for title, cell in named), page)


def _inline(text: str, page: str) -> str:
    parts = []
    end = 0
    for match in _INLINE.finditer(text):
        parts += [_escape(text[end : match.start()]), _mark(match, page)]
        end = match.end()
    parts.append(_escape(text[end:]))
    line = "".join(parts)
    return rf"\&{line}" if line.startswith((".", "\\[aq]")) else line


def _mark(match: re.Match[str], page: str) -> str:
    if match["code"]:
        return rf"\fB{_escape(match['code'])}\fP"
    if match["target"]:
        return _link(match["text"], match["target"], page)
    if match["bold"]:
        return rf"\fB{_escape(match['bold'])}\fP"
    return rf"\fI{_escape(match['italic'])}\fP"


def _link(text: str, target: str, page: str) -> str:
    """The text, and where that leads: another page, or a file of the documentation."""
    path, _, _ = target.partition("#")
    shown = _inline(text, page)
    if "://" in target:
        return f"{shown} ({_escape(target)})"
    if not path:
        return shown
    if "/" in path:
        return f"{shown} ({_escape(normpath(f'docs/commands/{path}'))})"
    name = path.removesuffix(".md")
    manual = rf"\fBheapglass\-{name}\fP(1)"
    words = text.strip("`").removeprefix("heapglass ")
    return manual if words == name else f"{shown} ({manual})"


def _escape(text: str) -> str:
    return "".join(
        _CHARACTERS.get(character, character)
        if character.isascii()
        else f"\\[u{ord(character):04X}]"
        for character in text
    )


if __name__ == "__main__":
    for written in write_pages(Path(__file__).parent.parent, Path(sys.argv[1])):
        print(written)
