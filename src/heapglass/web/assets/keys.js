// The keys, as they are explained.

const KEYS = [
  ["/", 'search; a function by its whole name: in "quotes"'],
  ["i", "callers instead of callees"],
  ["a", "all frames, also plumbing"],
  ["← → ↑ ↓", "move in the flame graph, the table, the timeline"],
  ["Enter", "zoom to the box"],
  ["h", "hide the box's function"],
  ["t", "find the box's function in the table"],
  ["0", "zoom out"],
  ["Shift ← →", "on the timeline: pick a window"],
  ["Esc", "one step back: search, zoom, picked time"],
  ["?", "these keys"],
];

function drawKeys(dialog) {
  dialog.replaceChildren(
      makeElement("h2", {}, "Keys"),
      makeElement(
          "dl", {},
          ...KEYS.flatMap(
              ([key, text]) =>
                  [makeElement("dt", {}, makeElement("kbd", {}, key)),
                   makeElement("dd", {}, text)])),
      makeElement("button", {type: "button", onclick: () => dialog.close()}, "Close"));
}
