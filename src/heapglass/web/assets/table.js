// The table: one row a stack, function, file or module; of many only those in sight are elements.

const ROW_HEIGHT = 27;
const MARGIN_ROWS = 12;

class SiteTable {
  constructor(elements, heap, actions) {
    Object.assign(this, { ...elements, heap, actions });
    this.selected = null;
    this.scroller.addEventListener("scroll", onceAFrame(() => this.fill()));
    new ResizeObserver(() => this.fill()).observe(this.scroller);
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-row]");
      if (row) this.select(Number(row.dataset.row), true);
    });
    this.body.addEventListener("keydown", (event) => this.press(event));
  }

  // `content`: measures by name, measure (the current one), sort, group, matches by site or null.
  show(content) {
    this.content = content;
    // Of the whole run, live is what leaked; in a span temporary ones are not known.
    this.columns = MEASURES.filter((measure) => measure !== (content.isWhole ? "live" : "temporary"));
    this.rows = groupRows(this.heap, content, this.columns);
    this.order = sortRows(this.rows, content);
    this.place = new Map(this.order.map((row, place) => [this.rows.keys[row], place]));
    this.drawHead();
    this.scroller.scrollTop = Math.min(this.scroller.scrollTop, this.order.length * ROW_HEIGHT);
    this.fill();
    this.showStack(content.row);
  }

  drawHead() {
    const { measures, sort } = this.content;
    const heads = [
      ...this.columns.map((measure) => [measure, measures[measure].words.name, ""]),
      ["name", this.content.group === "stack" ? "Function" : capital(this.content.group), "text"],
      ["place", this.content.group === "stack" ? "Where" : "Stacks", "text"],
    ];
    this.head.replaceChildren(...heads.map(([key, word, kind]) => {
      const isText = kind === "text";
      const direction = isText ? "ascending" : "descending";
      const button = makeElement("button", { type: "button", onclick: () => this.actions.sort(key) }, word, key === sort ? (isText ? " ↑" : " ↓") : "");
      return makeElement("th", { scope: "col", class: kind, "aria-sort": key === sort && direction }, button);
    }));
    const table = this.head.closest("table");
    table.querySelector("colgroup")?.remove();
    const kinds = [...this.columns.map(() => "n"), "name", "where"];
    table.prepend(makeElement("colgroup", {}, ...kinds.map((kind) => makeElement("col", { class: kind }))));
    table.setAttribute("aria-rowcount", this.order.length + 1);
  }

  fill() {
    if (!this.content || !this.scroller.clientHeight) return;
    const count = this.order.length;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const last = Math.min(count, first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS);
    const rows = [space(first, this.columns.length + 2)];
    for (let place = first; place < last; place += 1) rows.push(this.makeRow(place));
    rows.push(space(count - last, this.columns.length + 2));
    if (!count) rows.push(makeElement("tr", {}, makeElement("td", { class: "rows-empty", colspan: this.columns.length + 2 }, "No rows.")));
    const hadFocus = this.body.contains(document.activeElement);
    this.body.replaceChildren(...rows);
    if (hadFocus) this.body.querySelector('tr[tabindex="0"]')?.focus({ preventScroll: true });
  }

  makeRow(place) {
    const row = this.order[place];
    const { measures, measure } = this.content;
    const cells = this.columns.map((name) => {
      const value = this.rows.values[name][row];
      const cell = makeElement("td", { class: value > 0 ? "" : "none" }, value > 0 ? formatValue(name, value) : "–");
      if (name === measure && value > 0) {
        const bar = makeElement("i", { class: "share" });
        bar.style.width = `${Math.max(1, (100 * value) / Math.max(1, measures[name].total))}%`;
        cell.append(bar);
      }
      return cell;
    });
    const isSelected = this.rows.keys[row] === this.selected;
    return makeElement("tr", { "data-row": place, "aria-rowindex": place + 2, "aria-selected": String(isSelected), tabindex: isSelected ? "0" : "-1" },
      ...cells,
      makeElement("td", { class: "text", title: this.rows.title(row) }, this.rows.name(row), makeElement("span", { class: "quiet" }, this.rows.callers(row))),
      makeElement("td", { class: "text place", title: this.rows.place(row) }, shortPlace(this.rows.place(row))));
  }

  press(event) {
    const row = event.target.closest("tr[data-row]");
    if (!row) return;
    const here = Number(row.dataset.row);
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, PageDown: here + page, PageUp: here - page, Home: 0, End: this.order.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.select(Math.min(this.order.length - 1, Math.max(0, to)), true);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.select(here, true);
    }
  }

  select(place, isFocused) {
    const key = this.rows.keys[this.order[place]];
    this.selected = key;
    const top = place * ROW_HEIGHT;
    const { scroller } = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + 2 * ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + 2 * ROW_HEIGHT - scroller.clientHeight;
    this.fill();
    if (isFocused) this.body.querySelector(`tr[data-row="${place}"]`)?.focus({ preventScroll: true });
    this.drawStack(this.order[place]);
    this.actions.select(key);
  }

  // The row that the address names, if it is there, or else the first.
  showStack(key) {
    const place = this.place.get(key) ?? 0;
    this.pane.hidden = !this.order.length;
    if (!this.order.length) return;
    this.selected = this.rows.keys[this.order[place]];
    this.drawStack(this.order[place]);
    this.fill();
  }

  drawStack(row) {
    const { heap, rows } = this;
    const site = rows.largest(row);
    const f = heap.functionOf(heap.owners[site]);
    const facts = this.columns.map((name) => [this.content.measures[name].words.name, this.amount(name, row)]);
    if (this.content.group === "stack") {
      const { site_largest: largest, site_smallest: smallest, site_peak_blocks: peak } = heap.columns;
      facts.push(["Block sizes", `${formatSize(smallest[site])} to ${formatSize(largest[site])}`], ["Blocks at the peak", formatCount(peak[site])]);
    }
    const note = this.content.group === "stack" ? null : makeElement("p", { class: "quiet" }, `The largest of ${plural(rows.count(row), "stack")}:`);
    this.pane.replaceChildren(
      makeElement("h3", {}, this.content.group === "stack" ? heap.name(f) : rows.title(row)),
      makeElement("dl", { class: "facts" }, ...facts.flatMap(([word, text]) => [makeElement("dt", {}, word), makeElement("dd", { class: "num" }, text)])),
      makeElement("div", { class: "actions" },
        makeElement("button", { type: "button", onclick: () => this.actions.reveal(site) }, "In the flame graph"),
        makeElement("button", { type: "button", onclick: () => this.copy(site) }, "Copy the stack")),
      ...(note ? [note] : []),
      makeElement("ol", {}, ...heap.stack(site).map((frame) => this.makeFrame(frame, site))));
    this.pane.scrollTop = 0;
  }

  amount(name, row) {
    const value = this.rows.values[name][row];
    const { total, errors } = this.content.measures[name];
    const error = errors && this.content.group === "stack" ? errors[this.rows.keys[row]] : 0;
    const margin = error ? ` ±${formatValue(name, error)}` : "";
    return `${isCount(name) ? formatCount(value) : formatSize(value)}${margin}  (${formatShare(value, total)})`;
  }

  makeFrame({ node, f, isInlined }, site) {
    const { heap } = this;
    const kind = node === heap.owners[site] ? "owner" : heap.isPlumbing(f) ? "plumbing" : "";
    const module = heap.module(f) && heap.file(f) ? ` · ${baseName(heap.module(f))}` : "";
    return makeElement("li", { class: kind }, heap.name(f), makeElement("small", {}, `${heap.place(node)}${module}${isInlined ? " · inlined" : ""}`));
  }

  copy(site) {
    const lines = this.heap.stack(site).map(({ node, f }, i) => `#${i}  ${this.heap.name(f)}  ${this.heap.place(node)}`);
    copyText(lines.join("\n"));
  }
}

// Rows of a grouping, with anything in these columns: keys, values by measure, and functions of a row's number for its texts.
function groupRows(heap, content, columns) {
  const sites = [];
  for (let site = 0; site <= heap.siteCount; site += 1) {
    if ((!content.matches || content.matches[site]) && columns.some((name) => content.measures[name].values[site] > 0)) sites.push(site);
  }
  return content.group === "stack" ? stackRows(heap, content, sites) : ownerRows(heap, content, sites);
}

function stackRows(heap, content, sites) {
  const owner = (row) => heap.functionOf(heap.owners[sites[row]]);
  return {
    keys: sites,
    values: mapMeasures((name) => Float64Array.from(sites, (site) => content.measures[name].values[site])),
    name: (row) => heap.shortName(owner(row)),
    title: (row) => heap.name(owner(row)),
    place: (row) => heap.place(heap.owners[sites[row]]),
    callers: (row) => callersText(heap, sites[row]),
    count: () => 1,
    largest: (row) => sites[row],
  };
}

function ownerRows(heap, content, sites) {
  const column = { function: null, file: heap.columns.function_file, module: heap.columns.function_module }[content.group];
  const groups = new Map();
  for (const site of sites) {
    const f = heap.functionOf(heap.owners[site]);
    const key = column ? column[f] : f;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(site);
  }
  const keys = [...groups.keys()];
  const members = [...groups.values()];
  const current = content.measures[content.measure].values;
  const text = (row) => (column ? heap.strings[keys[row]] || "[unknown]" : heap.name(keys[row]));
  return {
    keys,
    values: mapMeasures((name) => Float64Array.from(members, (list) => list.reduce((sum, site) => sum + content.measures[name].values[site], 0))),
    name: (row) => (column ? text(row) : heap.shortName(keys[row])),
    title: text,
    place: (row) => plural(members[row].length, "stack"),
    callers: () => "",
    count: (row) => members[row].length,
    largest: (row) => members[row].reduce((best, site) => (current[site] > current[best] ? site : best)),
  };
}

// The nearest callers of a site's owner: where all is allocated by one wrapper, they tell more.
function callersText(heap, site) {
  const names = [];
  const own = heap.functionOf(heap.owners[site]);
  for (let node = heap.parents[heap.owners[site]]; node > 0 && names.length < 3; node = heap.parents[node]) {
    const f = heap.functionOf(node);
    if (f !== own && !heap.isPlumbing(f) && heap.shortName(f) !== names.at(-1)) names.push(heap.shortName(f));
  }
  return names.map((name) => ` ← ${name}`).join("");
}

function mapMeasures(make) {
  return Object.fromEntries(MEASURES.map((name) => [name, make(name)]));
}

function sortRows(rows, { sort }) {
  const order = rows.keys.map((_, row) => row);
  if (sort in rows.values) {
    const values = rows.values[sort];
    return order.sort((a, b) => values[b] - values[a] || a - b);
  }
  const texts = order.map((row) => rows[sort](row));
  return order.sort((a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : a - b));
}

function space(rows, columns) {
  const cell = makeElement("td", { colspan: columns });
  cell.style.height = `${rows * ROW_HEIGHT}px`;
  return makeElement("tr", { class: "space", "aria-hidden": "true" }, cell);
}

function shortPlace(place) {
  return place.includes("/") ? baseName(place) : place;
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
