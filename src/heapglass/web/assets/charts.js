// What needs no canvas: histograms, threads, and what is to be known about the report itself.

function drawHistograms(element, heap) {
  const { sizes, lifetimes } = heap.facts;
  element.replaceChildren(
    makeHistogram("Sizes asked for", "All allocations of the whole run, by the bytes asked for.", sizes, formatSize, 1),
    makeHistogram("Lifetimes of freed blocks", "All blocks freed in the whole run, by how long they lived.", lifetimes, formatDuration, 0));
}

// Buckets double: the first is for 0, the next for 1, then 2 to 3, 4 to 7 and so on. `inset`: both
// ends of a range belong to it.
function makeHistogram(title, note, { unit, counts }, format, inset) {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  const most = Math.max(...counts, 1);
  const whole = counts.reduce((sum, count) => sum + count, 0);
  const rows = [];
  for (let bucket = Math.max(0, first); bucket <= last; bucket += 1) {
    const bar = makeElement("i", { class: counts[bucket] ? "" : "zero" });
    bar.style.width = `${(100 * counts[bucket]) / most}%`;
    rows.push(makeElement("tr", {},
      makeElement("th", { scope: "row" }, rangeText(bucket, unit, format, inset)),
      makeElement("td", {}, bar),
      makeElement("td", { class: "n" }, formatCompact(counts[bucket])),
      makeElement("td", { class: "n quiet" }, counts[bucket] ? formatShare(counts[bucket], whole) : "")));
  }
  const body = rows.length ? makeElement("table", { class: "bars" }, makeElement("tbody", {}, ...rows)) : makeElement("p", { class: "quiet" }, "None.");
  return makeElement("section", { class: "card", "aria-label": title }, makeElement("h2", {}, title), makeElement("p", { class: "quiet" }, note), body);
}

function rangeText(bucket, unit, format, inset) {
  const low = bucket === 0 ? 0 : 2 ** (bucket - 1) * unit;
  const high = (bucket === 0 ? 1 : 2 ** bucket) * unit;
  const round = (value) => format(value).replace(".0 ", " ");
  if (high - inset <= low) return round(low);
  if (low === 0) return `below ${round(high)}`;
  const [number, unitName] = round(low).split(" ");
  const end = round(high - inset);
  return `${end.endsWith(` ${unitName}`) ? number : round(low)} – ${end}`;
}

function drawThreads(element, heap) {
  const { threads, thread_count, duration_ns } = heap.facts;
  const heads = ["Thread", "Alive", "Allocated", "Freed", "Allocations", "Frees", "Temporary"];
  const rows = threads.map((thread) => {
    const life = makeElement("i");
    const span = Math.max(1, duration_ns);
    life.style.left = `${Math.min(99, (100 * thread.first_seen_ns) / span)}%`;
    life.style.width = `${Math.max(0.5, (100 * (thread.last_seen_ns - thread.first_seen_ns)) / span)}%`;
    const title = `from ${formatDuration(thread.first_seen_ns)} to ${formatDuration(thread.last_seen_ns)}`;
    const numbers = [formatSize(thread.bytes_allocated), formatSize(thread.bytes_freed), formatCount(thread.allocations), formatCount(thread.frees), formatShare(thread.temporary, thread.allocations)];
    return makeElement("tr", {},
      makeElement("td", { class: "text mono" }, thread.name, makeElement("span", { class: "quiet" }, `  ${thread.tid}`)),
      makeElement("td", {}, makeElement("div", { class: "life", title, role: "img", "aria-label": title }, life)),
      ...numbers.map((text) => makeElement("td", {}, text)));
  });
  const table = makeElement("table", { class: "list" },
    makeElement("thead", {}, makeElement("tr", {}, ...heads.map((word, i) => makeElement("th", { scope: "col", class: i < 2 ? "text" : "" }, word)))),
    makeElement("tbody", {}, ...rows));
  element.replaceChildren(
    makeElement("h2", {}, plural(thread_count, "thread")),
    makeElement("p", { class: "quiet" }, "Over the whole run, by who called the allocator: a block may be freed by another thread than allocated it. Alive: from a thread's first event to its last."),
    table);
}

function drawAbout(element, heap) {
  const { facts } = heap;
  const list = (title, sentences, none) => [makeElement("h2", {}, title), sentences.length ? makeElement("ul", {}, ...sentences.map((text) => makeElement("li", {}, text))) : makeElement("p", { class: "quiet" }, none)];
  const known = [
    ["Command", facts.command], ["Executable", facts.process.executable], ["Directory", facts.process.directory],
    ["Process", `${facts.process.pid} on ${facts.process.host}, started ${facts.process.started}`], ["State", facts.process.state],
    ["Recording", facts.source], ["Distinct stacks", formatCount(facts.site_count)],
    ["Slack", facts.totals.is_usable ? "not known where sampling" : `${formatSize(facts.totals.slack_bytes)} set aside by the allocator beyond what was asked for`],
  ];
  element.replaceChildren(
    makeElement("h2", {}, "The process"),
    makeElement("dl", {}, ...known.flatMap(([word, text]) => [makeElement("dt", {}, word), makeElement("dd", { class: "mono" }, text)])),
    ...list("What the numbers leave out", facts.caveats, "Nothing: every event was recorded, with its whole stack."),
    ...list("What recording took", facts.cost, ""),
    ...list("What this page leaves out of the recording", facts.thinned, `Nothing but the addresses of blocks. Time: ${facts.resolution}.`),
    ...list("Names that are missing", facts.warnings, "None."),
    ...list("How to read it", [
      "Peak: what was in use at the very moment when memory was highest. Live: in use at the end, or at the moment picked. In a window, what grew.",
      `${remainderWord(heap)}: never freed until the end. With a moment or window, only what was allocated then.`,
      "Allocated and allocations: all that was ever asked for, also what was freed again. Temporary: freed before its thread allocated anything else.",
      "Frames of the allocator, the C and C++ runtimes and their containers are left out of the flame graph unless All frames is on.",
      "In the flame graph a box is a function, as wide as its share; boxes below it are what it called. With Callers on, the first row are the functions that allocate, and below them who called them.",
    ], ""));
}
