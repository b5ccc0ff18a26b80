// What is looked at: a measure, over the whole run, at a moment or in a window; one value a site.
//
// A span is null (the whole run), {to} (a moment) or {from, to} (a window); numbers of moments.

const MEASURES = ["peak", "live", "leaked", "allocated", "count", "temporary"];
const ERROR_COLUMNS = {
  peak: "peak_bytes",
  live: "live_bytes",
  leaked: "live_bytes",
  allocated: "bytes_allocated",
  count: "allocations",
  temporary: "temporary"
};

function isCount(measure) { return measure === "count" || measure === "temporary"; }

function formatValue(measure, value) {
  return isCount(measure) ? formatCompact(value) : formatSize(value);
}

// The values of all sites, their errors where they are estimates, the sum, and words for it.
function takeMeasure(heap, measure, span) {
  const values = siteValues(heap, measure, span);
  const errors = siteErrors(heap, measure, span, values);
  let total = 0;
  let square = 0;
  for (let site = 0; site < values.length; site += 1) {
    total += values[site];
    if (errors) square += errors[site] * errors[site];
  }
  const words = describeMeasure(heap, measure, span);
  return {measure, values, errors, total, error: Math.sqrt(square), words};
}

// Null where all is exact. No errors of a span were recorded: they are taken for those of the whole
// run, as far as these grow with the root of what is counted.
function siteErrors(heap, measure, span, values) {
  const c = heap.columns;
  const whole = c[`site_${ERROR_COLUMNS[measure]}_error`];
  if (!whole) return null;
  if (!span || measure === "temporary") return whole;
  const name = isCount(measure) ? "allocations" : "bytes_allocated";
  const [all, errors] = [c[`site_${name}`], c[`site_${name}_error`]];
  return Float64Array.from(
      values,
      (value, site) => errors[site] * Math.sqrt(Math.min(1, value / Math.max(1, all[site]))));
}

// With every digit of a count.
function wholeAmount(measure, value, error) {
  if (isCount(measure)) return `${formatCount(value)}${countMargin(value, error)}`;
  return estimateParts(formatSize(value), formatMargin(value, error, false)).join("");
}

function marginOf(measure, value, error) { return formatMargin(value, error, isCount(measure)); }

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
  const name = {live: "live_bytes", allocated: "bytes_allocated", count: "allocations"}[measure];
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
  return {leaked: "Leaked", left: "Left at the end", live: "Still in use"}[heap.facts.remainder];
}

// A name for the tile, a line below it on what it means here, and what all of it together is.
function describeMeasure(heap, measure, span) {
  const [name, whole, note] = DESCRIBED[measure](heap.facts, span && describeTime(heap, span));
  return {name: measure === "leaked" ? remainderWord(heap) : name, whole, note};
}

// Of a span: since or until when, whether it is a window, and where memory was highest in it.
function describeTime(heap, span) {
  const isWindow = span.from !== undefined;
  const end = formatDuration(heap.momentTimes[span.to]);
  const highest = highestMoment(heap, span);
  return {
    isWindow,
    end,
    when: isWindow ? "in this window" : `until ${end}`,
    highest: highest === "peak" ? null : formatDuration(heap.momentTimes[highest]),
  };
}

// Of the facts, and of the time unless it is the whole run.
const DESCRIBED = {
  peak: ({totals, rss}, time) => {
    const isExact = !time || time.highest === null;
    const at = isExact ? formatDuration(totals.peak_time_ns) : time.highest;
    const beside = rss === null || time ? "" : ` · RSS ${formatSize(rss)}`;
    return [
      "Peak", "in use at the peak", `${isExact ? "" : "highest snapshot, "}at ${at}${beside}`
    ];
  },
  live: ({remainder}, time) => {
    if (time?.isWindow) return ["Grown", "grown", "sites that grew in this window"];
    if (time) return ["Live", "in use", `at ${time.end}`];
    return ["Live", "in use", remainder === "live" ? "now" : "at the end"];
  },
  leaked: ({totals, growing_bytes: growing}, time) => {
    const grows = growing ? `${formatSize(growing)} growing · ` : "";
    const blocks = `${grows}${plural(totals.live_blocks, "block")}`;
    return ["Leaked", "never freed", time ? `of what came ${time.when}` : blocks];
  },
  allocated: ({totals}, time) => {
    // By blocks: where sampling, bytes freed and bytes allocated are not counted alike.
    const freed = `${formatShare(totals.frees, totals.allocations)} of blocks freed`;
    return ["Allocated", "allocated", time ? time.when : freed];
  },
  count: ({totals}, time) => {
    return ["Allocations", "allocations", time ? time.when : plural(totals.reallocs, "realloc")];
  },
  temporary: ({totals}, time) => {
    const share = `${formatShare(totals.temporary, totals.allocations)} of all, freed at once`;
    return ["Temporary", "temporary allocations", time ? "whole run: not known by time" : share];
  },
};
