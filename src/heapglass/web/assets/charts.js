// What needs no canvas: histograms, and threads.

function drawHistograms(element, heap) {
  const {sizes, lifetimes} = heap.facts;
  element.replaceChildren(
      makeHistogram(
          "Sizes asked for", "All allocations of the whole run, by the bytes asked for.", sizes,
          formatSize, 1),
      makeHistogram(
          "Lifetimes of freed blocks", "All blocks freed in the whole run, by how long they lived.",
          lifetimes, formatDuration, 0));
}

// Buckets double: the first is for 0, the next for 1, then 2 to 3, 4 to 7 and so on. `inset`: both
// ends of a range belong to it.
function makeHistogram(title, note, {unit, counts, errors}, format, inset) {
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  const most = Math.max(...counts, 1);
  const whole = counts.reduce((sum, count) => sum + count, 0);
  const rows = [];
  for (let bucket = Math.max(0, first); bucket <= last; bucket += 1) {
    const bar = makeElement("i", {class: counts[bucket] ? "" : "zero"});
    bar.style.width = `${(100 * counts[bucket]) / most}%`;
    const margin = errors ? formatMargin(counts[bucket], errors[bucket], true) : "";
    rows.push(makeElement(
        "tr", {}, makeElement("th", {scope: "row"}, rangeText(bucket, unit, format, inset)),
        makeElement("td", {}, bar),
        makeElement(
            "td", {class: "n"}, estimateParts(formatCompact(counts[bucket]), margin).join("")),
        makeElement(
            "td", {class: "n quiet"}, counts[bucket] ? formatShare(counts[bucket], whole) : "")));
  }
  const body = rows.length ?
      makeElement("table", {class: "bars"}, makeElement("tbody", {}, ...rows)) :
      makeElement("p", {class: "quiet"}, "None.");
  return makeElement(
      "section", {class: "card", "aria-label": title}, makeElement("h2", {}, title),
      makeElement("p", {class: "quiet"}, note), body);
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

const THREADS_NOTE = "Over the whole run, by who called the allocator: a block may be freed by" +
    " another thread than allocated it. Alive: from a thread's first event to its last.";

function drawThreads(element, heap) {
  const {threads, thread_count, duration_ns} = heap.facts;
  const words = ["Thread", "Alive", "Allocated", "Freed", "Allocations", "Frees", "Temporary"];
  const heads = words.map((word, i) => {
    return makeElement("th", {scope: "col", class: i < 2 ? "text" : ""}, word);
  });
  const rows = threads.map((thread) => makeThread(thread, Math.max(1, duration_ns)));
  element.replaceChildren(
      makeElement("h2", {}, plural(thread_count, "thread")),
      makeElement("p", {class: "quiet"}, THREADS_NOTE),
      makeElement(
          "table", {class: "list"}, makeElement("thead", {}, makeElement("tr", {}, ...heads)),
          makeElement("tbody", {}, ...rows)),
  );
}

function makeThread(thread, duration) {
  const {first_seen_ns: first, last_seen_ns: last} = thread;
  const title = `from ${formatDuration(first)} to ${formatDuration(last)}`;
  const life = makeElement("i");
  life.style.left = `${Math.min(99, (100 * first) / duration)}%`;
  life.style.width = `${Math.max(0.5, (100 * (last - first)) / duration)}%`;
  const cells = [
    formatSize(thread.bytes_allocated),
    formatSize(thread.bytes_freed),
    formatCount(thread.allocations),
    formatCount(thread.frees),
    thread.temporary === null ? "–" : formatShare(thread.temporary, thread.allocations),
  ];
  const tid = makeElement("span", {class: "quiet"}, `  ${thread.tid}`);
  const bar = makeElement("div", {class: "life", title, role: "img", "aria-label": title}, life);
  return makeElement(
      "tr", {}, makeElement("td", {class: "text mono"}, thread.name, tid),
      makeElement("td", {}, bar), ...cells.map((text) => makeElement("td", {}, text)));
}
