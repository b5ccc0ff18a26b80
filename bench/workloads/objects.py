"""objects.py COUNT: dictionaries and JSON, there and back, many small objects."""

import json
import sys


def main() -> None:
    count = int(sys.argv[1])
    records = {str(i): {"values": [i] * 5, "text": "x" * (i % 50)} for i in range(count)}
    for _ in range(3):
        text = json.dumps(records)
        records = json.loads(text)
    words: dict[str, int] = {}
    for record in records.values():
        for word in (str(value) for value in record["values"]):
            words[word] = words.get(word, 0) + 1
    print(len(text), len(words))


main()
