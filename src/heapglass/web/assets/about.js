// What is to be known about the process, the recording and the report itself.

const READING = [
  "Peak: what was in use at the very moment when memory was highest. Live: in use at the end, or" +
      " at the moment picked. In a window, what grew.",
  "Leaked: never freed until the end. With a moment or window, only what was allocated then. Of a" +
      " program that was ended it is called left, of a running one still in use.",
  "Trend, as 'heapglass leaks' judges it: growing, what came in all along and became more; kept," +
      " old blocks that did not become more; recent, what came shortly before the end; runtime, what" +
      " the C and C++ runtimes keep.",
  "Allocated and allocations: all that was ever asked for, also what was freed again. Temporary:" +
      " freed before its thread allocated anything else.",
  "Frames of the allocator, the C and C++ runtimes and their containers are left out of the flame" +
      " graph unless All frames is on.",
  "In the flame graph a box is a function, as wide as its share; boxes below it are what it" +
      " called. With Callers on, the first row are the functions that allocate, and below them" +
      " who called them.",
];

const BY_AGES_ALONE =
    "No snapshot is near half time: what grows is judged by the ages of its blocks alone.";

function drawAbout(element, heap) {
  const {facts} = heap;
  const times = `Nothing but the addresses of blocks. Time: ${facts.resolution}.`;
  element.replaceChildren(
      makeElement("h2", {}, "The process"),
      makePairs(aboutProcess(facts)),
      ...makeList(
          "What the numbers leave out", facts.caveats,
          facts.small.length ? NOTHING_MUCH : WHOLE_AND_EXACT),
      ...(facts.small.length ? makeList("Losses that change no number by 1 %", facts.small) : []),
      ...makeList("What recording took", facts.cost),
      ...makeList("What this page leaves out of the recording", facts.thinned, times),
      ...makeList("Names that are missing", facts.warnings, "None."),
      ...makeList("How to read it", [...READING, ...(facts.knows_growth ? [] : [BY_AGES_ALONE])]),
  );
}

const NOTHING_MUCH = "Nothing that changes a number by 1 %.";
const WHOLE_AND_EXACT = "Nothing: every event was recorded, with its whole stack.";

function aboutProcess(facts) {
  const {command, process, source, site_count, totals, usable_peak_error: error} = facts;
  const slack = `${formatSize(totals.slack_bytes)}, set aside beyond what was asked for`;
  return [
    ["Command", command],
    ["Executable", process.executable],
    ["Directory", process.directory],
    ["Process", `${process.pid} on ${process.host}, started ${process.started}`],
    ["State", process.state],
    ["Recording", source],
    ["Distinct stacks", formatCount(site_count)],
    ["Set aside at most", `${known(totals.usable_peak_bytes)}${error ? offBy(error) : ""}`],
    ["Memory of all kinds", facts.residency[0] ?? "not known"],
    ["Slack", totals.is_usable ? "not known where sampling" : slack],
  ];
}

function offBy(error) { return `, up to ${formatSize(error)} off: threads tell of it in batches`; }

function known(size) { return size === null ? "not known" : formatSize(size); }

function makePairs(pairs) {
  const pair = ([word, text]) =>
      [makeElement("dt", {}, word),
       makeElement("dd", {class: "mono"}, text),
  ];
  return makeElement("dl", {}, ...pairs.flatMap(pair));
}

function makeList(title, sentences, none = "") {
  const items = sentences.map((text) => makeElement("li", {}, text));
  const empty = makeElement("p", {class: "quiet"}, none);
  return [makeElement("h2", {}, title), items.length ? makeElement("ul", {}, ...items) : empty];
}
