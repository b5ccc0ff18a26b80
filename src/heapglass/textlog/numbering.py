"""Small numbers, in order of appearance, for large values: thread ids, pairs of them."""

from __future__ import annotations

import numpy as np

from heapglass.textlog.entries import I64


class Numbering:
    def __init__(self) -> None:
        self._sorted = np.empty(0, np.int64)
        self._numbers = np.empty(0, np.int64)
        self.values = np.empty(0, np.int64)  # by number

    def __len__(self) -> int:
        return len(self.values)

    def number(self, values: I64) -> I64:
        if not len(values):
            return np.empty(0, np.int64)
        if values[0] == values[-1] and bool(np.all(values == values[0])):
            return np.full(len(values), self._number(values[:1])[0])
        return self._number(values)

    def _number(self, values: I64) -> I64:
        at = self._look(values)
        is_new = self._sorted[at] != values if len(self._sorted) else np.ones(len(values), bool)
        if is_new.any():
            self._add(np.unique(values[is_new]))
            at = self._look(values)
        return self._numbers[at]

    def _look(self, values: I64) -> I64:
        at = np.searchsorted(self._sorted, values)
        return np.minimum(at, max(0, len(self._sorted) - 1))

    def _add(self, new: I64) -> None:
        places = np.searchsorted(self._sorted, new)
        numbers = len(self.values) + np.arange(len(new))
        self._sorted = np.insert(self._sorted, places, new)
        self._numbers = np.insert(self._numbers, places, numbers)
        self.values = np.append(self.values, new)
