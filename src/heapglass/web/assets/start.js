// From the packed parts to the page, or to a sentence that says why not.

async function start() {
  document.documentElement.dataset.theme = storedTheme();
  try {
    const [core, history] = await Promise.all([unpackPart("core"), unpackPart("history")]);
    const heap = new Heap(core, history);
    useUnits(heap.facts.units);
    new Report(heap);
    byId("loading").remove();
  } catch (error) {
    byId("loading").textContent = typeof DecompressionStream === "undefined" ?
        "This browser is too old for the report: it cannot unpack compressed data." :
        `The report cannot be shown: ${error.message}`;
    throw error;
  }
}

start();
