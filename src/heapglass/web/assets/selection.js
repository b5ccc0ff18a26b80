// What is looked at: a measure, over the whole run, at a moment or in a window; one value a site.
//
// A span is null (the whole run), {to} (a moment) or {from, to} (a window); numbers of moments.

const MEASURES = ["peak", "live", "leaked", "allocated", "count", "temporary"];
const WORDS = { peak: "Peak", live: "Live", leaked: "Leaked", allocated: "Allocated", count: "Allocations", temporary: "Temporary" };
const ERROR_COLUMNS = { peak: "peak_bytes", live: "live_bytes", leaked: "live_bytes", allocated: "bytes_allocated", count: "allocations" };

function isCount(measure) {
  return measure === "count" || measure === "temporary";
}

function formatValue(measure, value) {
  return isCount(measure) ? formatCompact(value) : formatSize(value);
}

// The values of all sites, their errors where they are estimates, the sum, and words for it.
function takeMeasure(heap, measure, span) {
  const values = siteValues(heap, measure, span);
  let total = 0;
  for (const value of values) total += value;
  const errors = span || !ERROR_COLUMNS[measure] ? null : heap.columns[`site_${ERROR_COLUMNS[measure]}_error`] ?? null;
  return { measure, values, errors, total, words: describeMeasure(heap, measure, span) };
}

function siteValues(heap, measure, span) {
  const c = heap.columns;
  const whole = {
    peak: c.site_peak_bytes,
    live: c.site_live_bytes,
    leaked: c.site_live_bytes,
    allocated: c.site_bytes_allocated,
    count: c.site_allocations,
    temporary: c.site_temporary,
  };
  if (!span || measure === "temporary") return whole[measure];
  const from = span.from ?? -1;
  if (measure === "leaked") return heap.bornBetween(from, span.to);
  if (measure === "peak") {
    const highest = highestMoment(heap, span);
    return highest === "peak" ? whole.peak : heap.at(highest).live_bytes;
  }
  const name = { live: "live_bytes", allocated: "bytes_allocated", count: "allocations" }[measure];
  const until = heap.at(span.to)[name];
  if (from < 0) return until;
  const since = heap.at(from)[name];
  return until.map((value, site) => Math.max(0, value - since[site]));
}

// Where memory was highest: the peak itself if it was then, else the highest snapshot.
function highestMoment(heap, span) {
  const start = span.from === undefined ? 0 : heap.momentTimes[span.from];
  const peak = heap.facts.totals.peak_time_ns;
  if (start <= peak && peak <= heap.momentTimes[span.to]) return "peak";
  let highest = span.to;
  for (let k = span.from ?? 0; k <= span.to; k += 1) {
    if (heap.columns.moment_live_bytes[k] > heap.columns.moment_live_bytes[highest]) highest = k;
  }
  return highest;
}

function remainderWord(heap) {
  return { leaked: "Leaked", left: "Left at the end", live: "Still in use" }[heap.facts.remainder];
}

// A name for the tile, a line below it on what it means here, and what all of it together is.
function describeMeasure(heap, measure, span) {
  const times = heap.momentTimes;
  const when = span && (span.from === undefined ? `until ${formatDuration(times[span.to])}` : "in this window");
  switch (measure) {
    case "peak": {
      const highest = span ? highestMoment(heap, span) : "peak";
      const time = highest === "peak" ? heap.facts.totals.peak_time_ns : times[highest];
      return { name: WORDS.peak, whole: "in use at the peak", note: `${highest === "peak" ? "" : "highest snapshot, "}at ${formatDuration(time)}` };
    }
    case "live":
      if (!span) return { name: WORDS.live, whole: "in use", note: heap.facts.remainder === "live" ? "now" : "at the end" };
      if (span.from === undefined) return { name: WORDS.live, whole: "in use", note: `at ${formatDuration(times[span.to])}` };
      return { name: "Grown", whole: "grown", note: "sites that grew in this window" };
    case "leaked":
      return { name: remainderWord(heap), whole: "never freed", note: span ? `of what came ${when}` : plural(heap.facts.totals.live_blocks, "block") };
    case "allocated":
      return { name: WORDS.allocated, whole: "allocated", note: when || `${formatShare(heap.facts.totals.bytes_freed, heap.facts.totals.bytes_allocated)} freed again` };
    case "count":
      return { name: WORDS.count, whole: "allocations", note: when || plural(heap.facts.totals.reallocs, "realloc") };
    default: {
      const { temporary, allocations } = heap.facts.totals;
      return { name: WORDS.temporary, whole: "temporary allocations", note: span ? "whole run: not known by time" : `${formatShare(temporary, allocations)} of all, freed at once` };
    }
  }
}
