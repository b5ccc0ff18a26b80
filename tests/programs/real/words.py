"""Counts words, builds and takes apart a tree of them, works in threads."""

import collections
import decimal
import json
import pathlib
import re
import threading

words = re.findall(r"[a-z]+", pathlib.Path("words.txt").read_text())
counts = collections.Counter(words)
tree = json.loads(json.dumps({word: list(range(n)) for word, n in counts.items()}))
print(sorted(tree, key=lambda word: (-len(tree[word]), word))[:20], decimal.Decimal(2) ** 300)

results: dict[int, int] = {}


def work(n: int) -> None:
    results[n] = sum(len(str(i) * n) for i in range(2000))


threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(results.items()))
