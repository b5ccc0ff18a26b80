// The table: one row a stack, function, file or module; of many only those in sight are elements.

const ROW_HEIGHT = 27;
const MARGIN_ROWS = 12;
const STAND_INS = {
  live: "leaked",
  temporary: "count"
};  // for the column that is left out
// Pixels; those of the columns are in parts.css, too.
const NARROW = 640;
const LEAST_NAME = 180;
const WIDTHS = {
  n: 87,
  "n estimated": 107,
  "text trend": 68
};

class SiteTable {
  constructor(elements, heap, actions) {
    Object.assign(this, {...elements, heap, actions});
    this.stack = new StackPane(this.pane, heap, actions);
    this.selected = null;
    this.scroller.addEventListener("scroll", onceAFrame(() => this.fill()));
    new ResizeObserver(() => this.resize()).observe(this.scroller);
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-row]");
      if (row) this.select(Number(row.dataset.row), true);
    });
    this.body.addEventListener("keydown", (event) => this.press(event));
  }

  // `content`: measures by name, measure (the current one), sort, group, matches by site or null.
  show(content) {
    // Of the whole run, live is what leaked; in a span temporary ones and trends are not known.
    const left = content.isWhole ? "live" : "temporary";
    const columns = MEASURES.filter((measure) => measure !== left);
    const shown = (name) => (name === left ? STAND_INS[name] : name);
    const {measure} = content;
    const sort = content.sort === "trend" && !content.isWhole ? measure : content.sort;
    this.content = {...content, columns, measure: shown(measure), sort: shown(sort)};
    this.rows = groupRows(this.heap, this.content);
    this.order = sortRows(this.rows, this.content);
    this.place = new Map(this.order.map((row, place) => [this.rows.keys[row], place]));
    this.drawHead();
    this.scroller.scrollTop = Math.min(this.scroller.scrollTop, this.order.length * ROW_HEIGHT);
    this.fill();
    this.showStack(content.row);
  }

  // The columns that there is room for, as [key, word, kind]. Where there is little the name comes
  // first, then the numbers that the rows are chosen and sorted by, then others.
  fitColumns() {
    const {columns, measures, group, isWhole, measure, sort} = this.content;
    const isStack = group === "stack";
    const kind = columns.every((name) => !measures[name].errors) ? "n" : "n estimated";
    const numbers = columns.map((name) => [name, measures[name].words.name, kind]);
    const name = ["name", isStack ? "Function" : capital(group), "text name"];
    const trend = ["trend", "Trend", "text trend"];
    const room = this.scroller.clientWidth;
    if (room >= NARROW) {
      const place = ["place", isStack ? "Where" : "Stacks", "text where"];
      return [...numbers, name, place, ...(isWhole ? [trend] : [])];
    }
    const first = (key) => (key === measure ? 0 : key === sort ? 1 : key === "trend" ? 2 : 3);
    const wanted = [...(isWhole ? [trend] : []), ...numbers];
    wanted.sort(([a], [b]) => first(a) - first(b));
    let left = room - LEAST_NAME;
    const fitting = wanted.filter(([, , kind]) => {
      left -= WIDTHS[kind];
      return left >= 0;
    });
    return [name, ...[...numbers, trend].filter(([key]) => fitting.some(([one]) => one === key))];
  }

  drawHead() {
    const {sort} = this.content;
    this.columns = this.fitColumns();
    this.head.replaceChildren(...this.columns.map(([key, word, kind]) => {
      const isText = kind.startsWith("text");
      const direction = isText ? "ascending" : "descending";
      const button = makeElement(
          "button", {type: "button", onclick: () => this.actions.sort(key)}, word,
          key === sort ? (isText ? " ↑" : " ↓") : "");
      return makeElement(
          "th", {scope: "col", class: kind, "aria-sort": key === sort && direction}, button);
    }));
    const table = this.head.closest("table");
    table.querySelector("colgroup")?.remove();
    table.prepend(makeElement(
        "colgroup", {}, ...this.columns.map(([, , kind]) => makeElement("col", {class: kind}))));
    table.setAttribute("aria-rowcount", this.order.length + 1);
  }

  // The window has another width: columns may come or go.
  resize() {
    if (!this.content || !this.scroller.clientWidth) return;
    const before = String(this.columns);
    if (String(this.fitColumns()) !== before) this.drawHead();
    this.fill();
  }

  fill() {
    if (!this.content || !this.scroller.clientHeight) return;
    const count = this.order.length;
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - MARGIN_ROWS);
    const last = Math.min(
        count, first + Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS);
    const rows = [space(first, this.columns.length)];
    for (let place = first; place < last; place += 1) rows.push(this.makeRow(place));
    rows.push(space(count - last, this.columns.length));
    if (!count)
      rows.push(makeElement(
          "tr", {},
          makeElement("td", {class: "rows-empty", colspan: this.columns.length}, "No rows.")));
    const hadFocus = this.body.contains(document.activeElement);
    this.body.replaceChildren(...rows);
    if (hadFocus) this.body.querySelector('tr[tabindex="0"]')?.focus({preventScroll: true});
  }

  makeRow(place) {
    const row = this.order[place];
    const isSelected = this.rows.keys[row] === this.selected;
    return makeElement(
        "tr", {
          "data-row": place,
          "aria-rowindex": place + 2,
          "aria-selected": String(isSelected),
          tabindex: isSelected ? "0" : "-1"
        },
        ...this.columns.map(([key]) => this.makeCell(key, row)));
  }

  makeCell(key, row) {
    const {rows} = this;
    if (key === "name")
      return makeElement(
          "td", {class: "text", title: `${rows.title(row)}${rows.callers(row)}`}, rows.name(row),
          makeElement("span", {class: "quiet"}, rows.callers(row)));
    if (key === "place")
      return makeElement(
          "td", {class: "text place", title: rows.place(row)}, shortPlace(rows.place(row)));
    if (key === "trend") {
      const trend = this.heap.trendWord(rows.trend(row));
      return makeElement("td", {class: `text trend ${trend || "none"}`}, trend || "–");
    }
    return this.makeNumber(key, row);
  }

  makeNumber(name, row) {
    const {measures, measure} = this.content;
    const value = this.rows.values[name][row];
    const margin = value > 0 ? marginOf(name, value, this.rows.error(name, row)) : "";
    const text = value > 0 ? formatValue(name, value) : "–";
    const [number, plusMinus, unit] = estimateParts(text, margin);
    const cell = makeElement(
        "td", {class: value > 0 ? "" : "none"}, number,
        plusMinus ? makeElement("span", {class: "quiet"}, plusMinus) : "", unit);
    if (name === measure && value > 0) {
      const bar = makeElement("i", {class: "share"});
      bar.style.width = `${Math.max(1, (100 * value) / Math.max(1, measures[name].total))}%`;
      cell.append(bar);
    }
    return cell;
  }

  press(event) {
    const row = event.target.closest("tr[data-row]");
    if (!row) return;
    const here = Number(row.dataset.row);
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
    const to = {
      ArrowDown: here + 1,
      ArrowUp: here - 1,
      PageDown: here + page,
      PageUp: here - page,
      Home: 0,
      End: this.order.length - 1
    }[event.key];
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
    const {scroller} = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + 2 * ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = top + 2 * ROW_HEIGHT - scroller.clientHeight;
    this.fill();
    if (isFocused) this.body.querySelector(`tr[data-row="${place}"]`)?.focus({preventScroll: true});
    this.stack.draw(this.content, this.rows, this.order[place]);
    this.actions.select(key);
  }

  // The row that the address names, if it is there, or else the first.
  showStack(key) {
    const place = this.place.get(key) ?? 0;
    this.pane.hidden = !this.order.length;
    if (!this.order.length) return;
    this.selected = this.rows.keys[this.order[place]];
    this.stack.draw(this.content, this.rows, this.order[place]);
    this.fill();
  }
}

function space(rows, columns) {
  const cell = makeElement("td", {colspan: columns});
  cell.style.height = `${rows * ROW_HEIGHT}px`;
  return makeElement("tr", {class: "space", "aria-hidden": "true"}, cell);
}

function shortPlace(place) { return place.includes("/") ? baseName(place) : place; }

function capital(word) { return word[0].toUpperCase() + word.slice(1); }
