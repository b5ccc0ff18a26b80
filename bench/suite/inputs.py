"""What the real programs work on: made once, the same each time."""

from __future__ import annotations

import random
from pathlib import Path

from .places import BUILD, WORKLOADS


def sqlite_script(rows: int) -> Path:
    text = (WORKLOADS / "sqlite.sql").read_text().replace(":rows", str(rows))
    return written(f"sqlite.{rows}.sql", text)


def xml_document(items: int) -> Path:
    path = BUILD / f"items.{items}.xml"
    return path if path.exists() else written(path.name, xml_text(items))


def xml_text(items: int) -> str:
    dice = random.Random(1)
    lines = ['<?xml version="1.0"?>', "<items>"]
    for i in range(items):
        words = " ".join(f"w{dice.randrange(5000)}" for _ in range(30))
        tags = "".join(f"<tag>{dice.randrange(100)}</tag>" for _ in range(i % 4))
        lines.append(f'<item id="{i}" kind="k{i % 17}"><name>{words}</name>{tags}</item>')
    return "\n".join([*lines, "</items>", ""])


def written(name: str, text: str) -> Path:
    path = BUILD / name
    path.write_text(text)
    return path
