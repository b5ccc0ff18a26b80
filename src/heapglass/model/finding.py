"""What was found out about a recording or a machine, how grave it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    OK = "ok"
    NOTE = "note"  # worth knowing
    WARNING = "warning"  # numbers are missing, or recording will not work


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    subject: str  # a word to find it by
    text: str  # one or two sentences
    action: str = ""  # what to do, if anything
