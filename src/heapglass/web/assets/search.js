// What a search finds, and which functions are left out of the flame graph.

// Functions and sites that a query is for; null without one.
function findMatches(heap, query) {
  const text = query.trim();
  if (!text) return null;
  const name = quotedName(text);
  const functions = name === null ? functionsWith(heap, text) : functionsCalled(heap, name);
  const nodes = new Uint8Array(heap.parents.length);  // here or in a caller
  for (let node = 1; node < nodes.length; node += 1)
    nodes[node] = nodes[heap.parents[node]] | functions[heap.functionOf(node)];
  return {functions, sites: Uint8Array.from(heap.columns.site_node, (node) => nodes[node])};
}

// A query for one function alone: what it is called may be a part of other names.
function queryFor(heap, f) { return `"${heap.name(f)}"`; }

function quotedName(text) { return /^".+"$/s.test(text) ? text.slice(1, -1) : null; }

function functionsCalled(heap, name) {
  return Uint8Array.from(
      heap.columns.function_name, (string) => Number(heap.strings[string] === name));
}

function functionsWith(heap, text) {
  const lower = text.toLowerCase();
  const found = heap.strings.map((string) => string.toLowerCase().includes(lower));
  const c = heap.columns;
  // Of an endless name the middle is left out, but its short form has what the function is called.
  const texts = [c.function_name, c.function_short_name, c.function_file, c.function_module];
  return Uint8Array.from(
      c.function_name, (_, f) => Number(texts.some((column) => found[column[f]])));
}

function hiddenFunctions(heap, state) {
  const hidden =
      Uint8Array.from(heap.columns.function_flags, (flags) => (state.all ? 0 : flags & PLUMBING));
  for (const f of state.hidden) hidden[f] = 1;
  return hidden;
}
