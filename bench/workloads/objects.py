"""objects.py COUNT: dictionaries and JSON, there and back, many small objects."""

import json
import sys


def record(i: int) -> dict[str, list[int]]:
    return {"values": [i] * 5, "x" * (i % 50): []}


def main() -> None:
    count = int(sys.argv[1])
    records = {str(i): record(i) for i in range(count)}
    for _ in range(3):
        text = json.dumps(records)
        records = json.loads(text)
    counts: dict[int, int] = {}
    for one in records.values():
        for value in one["values"]:
            counts[value % 1000] = counts.get(value % 1000, 0) + len(one)
    print(len(text), sum(counts.values()))


main()
