// The pane beside the table: the selected row's numbers, and its stack with source lines.

const TRENDS = {
  growing: "growing: came in all along, and became more",
  kept: "kept: old blocks that did not become more",
  recent: "recent: came shortly before the end",
  runtime: "runtime: kept by the C or C++ runtime",
};

class StackPane {
  constructor(element, heap, actions) { Object.assign(this, {element, heap, actions}); }

  // Of a group, the stack of its largest site.
  draw(content, rows, row) {
    const {heap, element} = this;
    const site = rows.largest(row);
    const isStack = content.group === "stack";
    const title = isStack ? heap.name(heap.functionOf(heap.owners[site])) : rows.title(row);
    const facts = [
      ...this.amounts(content, rows, row),
      ...this.trend(content, rows.trend(row)),
      ...(isStack ? this.sizes(site) : []),
    ];
    const pair = ([word, text]) =>
        [makeElement("dt", {}, word),
         makeElement("dd", {class: "num"}, text),
    ];
    const note = isStack ? "" : `The largest of ${plural(rows.count(row), "stack")}:`;
    const frames = heap.stack(site).map((frame) => this.makeFrame(frame, site));
    element.replaceChildren(
        makeElement("h3", {}, title),
        makeElement("dl", {class: "facts"}, ...facts.flatMap(pair)),
        this.makeActions(site),
        makeElement("p", {class: "quiet"}, note),
        makeElement("ol", {}, ...frames),
    );
    element.scrollTop = 0;
  }

  amounts(content, rows, row) {
    return content.columns.map((name) => {
      const value = rows.values[name][row];
      const {total, words} = content.measures[name];
      const amount = wholeAmount(name, value, rows.error(name, row));
      return [words.name, `${amount}  (${formatShare(value, total)})`];
    });
  }

  trend({isWhole}, trend) {
    const word = this.heap.trendWord(trend);
    return isWhole && word ? [["Trend", TRENDS[word]]] : [];
  }

  sizes(site) {
    const {
      site_largest: largest,
      site_smallest: smallest,
      site_peak_blocks: peak,
      site_peak_blocks_error: errors,
    } = this.heap.columns;
    const margin = errors ? countMargin(peak[site], errors[site]) : "";
    return [
      ["Block sizes", `${formatSize(smallest[site])} to ${formatSize(largest[site])}`],
      ["Blocks at the peak", `${formatCount(peak[site])}${margin}`],
    ];
  }

  makeActions(site) {
    const button = (text, onclick) => makeElement("button", {type: "button", onclick}, text);
    return makeElement(
        "div",
        {class: "actions"},
        button("In the flame graph", () => this.actions.reveal(site)),
        button("Copy the stack", () => this.copy(site)),
    );
  }

  makeFrame({node, f, isInlined}, site) {
    const {heap} = this;
    const kind = node === heap.owners[site] ? "owner" : heap.isPlumbing(f) ? "plumbing" : "";
    const module = heap.module(f) && heap.file(f) ? ` · ${baseName(heap.module(f))}` : "";
    const place = `${heap.place(node)}${module}${isInlined ? " · inlined" : ""}`;
    return makeElement("li", {class: kind}, heap.name(f), makeElement("small", {}, place));
  }

  copy(site) {
    const {heap} = this;
    const line = ({node, f}, i) => `#${i}  ${heap.name(f)}  ${heap.place(node)}`;
    copyText(heap.stack(site).map(line).join("\n"));
  }
}
