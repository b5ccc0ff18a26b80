"""A small log in which everything happens once."""

from __future__ import annotations

from heapglass.symbols.symbolizer import Symbolizer
from heapglass.textlog.log import replay_log
from heapglass.views.log import LogQuery, LogView, build_log

SAMPLE_LOG = b"""\
# PID 5625
# EXE /no/such/editor
# CWD /home/me
# MAPS
55d0c8a00000-55d0c8b00000 r-xp 00001000 fe:01 123456 /no/such/editor

+ INIT 0 0x0 5625 5625 1
-
+ malloc 4096 0x55d0c9adf010 5625 5625 2
0x55d0c8a11f3c
0x55d0c8a11000
-
+ malloc 40 0x55d0c9ae1010 5625 5627 3
0x55d0c8a22222
-
+ calloc 99 0x0 5625 5627 4
-
+ realloc-realloc 96 0x55d0c9aef2a0 5625 5627 6 0x55d0c9ae1010 5
0x55d0c8a22222
-
+ free 96 0x55d0c9aef2a0 5625 5625 7
0x55d0c8a33333
-
+ free 96 0x55d0c9aef2a0 5625 5625 8
0x55d0c8a33333
-
+ free 24 0x1db9360 5625 5625 9
-
what is this
# DROPPED 12 5625
+ malloc 24 0x55d0c9af0000 5625 5625 10
-
+ FINI 0 0x0 5625 5625 11
-
"""


def sample_log() -> LogView:
    log = replay_log("sample.log", [SAMPLE_LOG])
    return build_log(log, Symbolizer, LogQuery())
