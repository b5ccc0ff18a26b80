// The view in the page's address, behind the #: whoever opens the link sees the same.

const DEFAULTS = {
  tab: "flame",
  measure: "peak",
  from: null,
  to: null,
  query: "",
  inverted: false,
  all: false,
  zoom: [],
  hidden: [],
  sort: null,
  group: "stack",
  row: null,
};

const TABS = ["flame", "table", "charts", "threads", "about"];
const GROUPS = ["stack", "function", "file", "module"];

function writeAddress(state) {
  const words = new URLSearchParams();
  if (state.tab !== DEFAULTS.tab) words.set("view", state.tab);
  if (state.measure !== state.usual) words.set("by", state.measure);
  if (state.to !== null)
    words.set("at", state.from === null ? `${state.to}` : `${state.from}-${state.to}`);
  if (state.query) words.set("search", state.query);
  if (state.inverted) words.set("callers", "1");
  if (state.all) words.set("all", "1");
  if (state.zoom.length) words.set("zoom", state.zoom.join("."));
  if (state.hidden.length) words.set("hide", state.hidden.join("."));
  if (state.sort) words.set("sort", state.sort);
  if (state.group !== DEFAULTS.group) words.set("rows", state.group);
  if (state.row !== null) words.set("row", state.row);
  return words.toString();
}

// Only what makes sense for this heap: an address may have been typed, or be another report's.
function readAddress(text, heap) {
  const words = new URLSearchParams(text.replace(/^#/, ""));
  const state = {};
  const choose = (key, word, among) => {
    if (among.includes(words.get(word))) state[key] = words.get(word);
  };
  choose("tab", "view", TABS);
  choose("measure", "by", MEASURES);
  choose("sort", "sort", [...MEASURES, "name", "place", "trend"]);
  choose("group", "rows", GROUPS);
  state.query = words.get("search") ?? "";
  state.inverted = words.get("callers") === "1";
  state.all = words.get("all") === "1";
  state.zoom = readNumbers(words.get("zoom"), heap.columns.function_name.length);
  state.hidden = readNumbers(words.get("hide"), heap.columns.function_name.length);
  const span = readNumbers((words.get("at") ?? "").replace("-", "."), heap.momentTimes.length);
  if (span.length === 1) state.to = span[0];
  if (span.length === 2 && span[0] < span[1]) [state.from, state.to] = span;
  const row = words.get("row");
  if (row && /^\d+$/.test(row)) state.row = Number(row);
  return state;
}

function readNumbers(text, limit) {
  return (text ?? "")
      .split(".")
      .filter((word) => /^\d+$/.test(word))
      .map(Number)
      .filter((number) => number < limit);
}
