// What a search finds, and which functions are left out of the flame graph.

// Functions, nodes and sites that a text is found in; null without a text.
function findMatches(heap, query) {
  const text = query.trim().toLowerCase();
  if (!text) return null;
  const found = heap.strings.map((string) => string.toLowerCase().includes(text));
  const c = heap.columns;
  // Of an endless name the middle is left out, but its short form has what the function is called.
  const texts = [c.function_name, c.function_short_name, c.function_file, c.function_module];
  const functions =
      Uint8Array.from(c.function_name, (_, f) => Number(texts.some((column) => found[column[f]])));
  const nodes = new Uint8Array(heap.parents.length);  // here or in a caller
  for (let node = 1; node < nodes.length; node += 1)
    nodes[node] = nodes[heap.parents[node]] | functions[heap.functionOf(node)];
  return {functions, sites: Uint8Array.from(c.site_node, (node) => nodes[node])};
}

function hiddenFunctions(heap, state) {
  const hidden =
      Uint8Array.from(heap.columns.function_flags, (flags) => (state.all ? 0 : flags & PLUMBING));
  for (const f of state.hidden) hidden[f] = 1;
  return hidden;
}
