// The headline numbers; each is also the switch that makes all views show what it counts.

class Tiles {
  constructor(element, onChoose) {
    this.element = element;
    this.onChoose = onChoose;
    element.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const tiles = [...this.element.children];
    const place = tiles.indexOf(document.activeElement) + step;
    this.onChoose(tiles.at(place % tiles.length).dataset.measure);
    this.element.querySelector('[aria-checked="true"]').focus();
  }

  // `totals`: the whole run's, exact also where sites are estimates, but for temporary ones; null
  // in a span.
  show(measures, chosen, totals) {
    const whole = totals && {
      peak: totals.peak_bytes,
      live: totals.live_bytes,
      leaked: totals.live_bytes,
      allocated: totals.bytes_allocated,
      count: totals.allocations,
      temporary: totals.temporary,
    };
    this.element.replaceChildren(...MEASURES.map((measure) => {
      const {words, total, error} = measures[measure];
      const isChosen = measure === chosen;
      const value = whole ? whole[measure] : total;
      const isExact = whole && measure !== "temporary";
      const margin = isExact ? "" : marginOf(measure, value, error);
      const [number, plusMinus, unit] = estimateParts(formatValue(measure, value), margin);
      return makeElement(
          "button", {
            type: "button",
            class: "tile",
            role: "radio",
            "data-measure": measure,
            "aria-checked": String(isChosen),
            tabindex: isChosen ? "0" : "-1",
            onclick: () => this.onChoose(measure),
          },
          makeElement("span", {}, words.name),
          makeElement("b", {}, number, makeElement("i", {}, plusMinus), unit),
          makeElement("small", {title: words.note}, words.note));
    }));
  }
}
