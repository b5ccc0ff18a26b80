// The page as a whole: one state, changed in one place, and every part drawn from it.

class Report {
  constructor(heap) {
    this.heap = heap;
    this.usual = heap.facts.remainder === "live" ? "live" : "peak";
    this.state =
        {...DEFAULTS, measure: this.usual, usual: this.usual, ...readAddress(location.hash, heap)};
    this.colours = new Colours(heap);
    this.trees = new Map();
    this.tiles = new Tiles(byId("tiles"), (measure) => this.change({measure, sort: null}));
    this.timeline = new Timeline(byId("timeline"), heap, (span) => this.pick(span));
    this.flame = new FlameGraph(
        byId("flame"), byId("flame-scroll"), byId("flame-extent"), heap, this.colours, {
          zoom: (path) => this.change({zoom: path}),
          focus: (node, lines) => this.tellFocus(node, lines),
        });
    this.table = new SiteTable(
        {
          scroller: byId("rows-scroll"),
          head: byId("rows-head"),
          body: byId("rows-body"),
          pane: byId("stack")
        },
        heap, {
          sort: (sort) => this.change({sort}),
          select: (row) => this.remember({row}),
          reveal: (site) => this.reveal(site)
        });
    this.drawOnce();
    this.listen();
    setTheme(storedTheme(), this);
    this.draw(Object.keys(this.state));
  }

  get span() {
    const {from, to} = this.state;
    if (to === null) return null;
    return from === null ? {to} : {from, to};
  }

  // Who picks a moment wants to see what was in use then, not at the peak before it.
  pick(span) {
    const changes = {from: span?.from ?? null, to: span?.to ?? null};
    const isMoment = changes.to !== null && changes.from === null;
    if (isMoment && !this.span && this.state.measure === "peak") changes.measure = "live";
    if (!span && this.state.measure === "live") changes.measure = this.usual;
    this.change(changes);
  }

  // Note a change in the address without drawing anything.
  remember(changes) {
    Object.assign(this.state, changes);
    const address = `#${writeAddress(this.state)}`;
    if (address !== location.hash) history.replaceState(null, "", address);
  }

  change(changes) {
    const names =
        Object.keys(changes).filter((name) => String(changes[name]) !== String(this.state[name]));
    if (!names.length) return;
    Object.assign(this.state, changes);
    const address = `#${writeAddress(this.state)}`;
    history[this.isGoingOn(names) ? "replaceState" : "pushState"](null, "", address);
    this.draw(names);
  }

  // Letters typed, or keys held, are no steps that one wants to go back by.
  isGoingOn(names) {
    const last = this.lastChange;
    this.lastChange = {names: String(names), time: performance.now()};
    const isQuick =
        last?.names === this.lastChange.names && this.lastChange.time - last.time < 1000;
    return isQuick && names.every((name) => ["query", "from", "to"].includes(name));
  }

  draw(changed) {
    const has = (...names) => names.some((name) => changed.includes(name));
    if (has("from", "to"))
      this.measures = Object.fromEntries(
          MEASURES.map((name) => [name, takeMeasure(this.heap, name, this.span)]));
    if (has("from", "to", "measure")) {
      this.tiles.show(this.measures, this.state.measure, this.span ? null : this.heap.facts.totals);
      this.drawTime();
    }
    if (has("query")) this.matches = findMatches(this.heap, this.state.query);
    if (has("query", "from", "to", "measure")) this.drawFound();
    if (has("hidden", "all")) this.drawHidden();
    if (has("tab")) this.drawTabs();
    this.isFlameStale ||=
        has("from", "to", "measure", "query", "hidden", "all", "inverted", "zoom");
    this.isTableStale ||= has("from", "to", "measure", "query", "sort", "group", "row");
    if (this.isFlameStale && this.state.tab === "flame") this.drawFlame(changed);
    if (this.isTableStale && this.state.tab === "table") this.drawTable();
  }

  get measure() { return this.measures[this.state.measure]; }

  drawFlame(changed) {
    this.isFlameStale = false;
    const {state} = this;
    const shape = JSON.stringify([state.inverted, state.all, state.hidden]);
    this.tree = this.treeOf(shape);
    if (this.tree.measured !== this.measure) {
      this.tree.measure(this.measure.values, this.measure.errors);
      this.tree.measured = this.measure;
    }
    byId("invert").checked = state.inverted;
    byId("all-frames").checked = state.all;
    const isAnimated = changed.length === 1 && changed[0] === "zoom";
    this.flame.show({
      tree: this.tree,
      measure: this.measure,
      matches: this.matches?.functions ?? null,
      path: state.zoom,
      isAnimated
    });
    this.drawCrumbs();
    if (this.flame.focused !== null)
      this.tellFocus(this.flame.focused, this.flame.describe(this.flame.focused));
    else
      byId("flame-detail").textContent =
          "Point at a box for its numbers; click, or use the arrow keys and Enter, to zoom.";
  }

  // Large trees take half a second: those seen last are kept.
  treeOf(shape) {
    const {state, heap, trees} = this;
    const tree = trees.get(shape) ??
        new (state.inverted ? CallerTree : CalleeTree)(heap, hiddenFunctions(heap, state));
    trees.delete(shape);
    trees.set(shape, tree);
    if (trees.size > 3) trees.delete(trees.keys().next().value);
    return tree;
  }

  drawTable() {
    this.isTableStale = false;
    const {state} = this;
    byId("group").value = state.group;
    this.table.show({
      measures: this.measures,
      measure: state.measure,
      sort: state.sort ?? state.measure,
      group: state.group,
      matches: this.matches?.sites ?? null,
      isWhole: !this.span,
      row: state.row,
    });
  }

  drawTime() {
    const {span} = this;
    this.timeline.show(span);
    byId("whole").hidden = !span;
    byId("picked").textContent = span ? describeSpan(this.heap, span) : "";
    const can = this.heap.momentTimes.length ?
        "; click for a moment, drag for a window" :
        ": to pick moments, record with a shorter --snapshot";
    byId("resolution").textContent =
        span ? this.heap.facts.resolution : this.heap.facts.resolution + can;
  }

  drawFound() {
    const output = byId("found");
    if (byId("search").value !== this.state.query) byId("search").value = this.state.query;
    if (!this.matches) {
      output.textContent = "";
      return;
    }
    let sum = 0;
    this.measure.values.forEach((value, site) => {
      if (this.matches.sites[site]) sum += value;
    });
    output.textContent = sum > 0 ?
        `${formatShare(sum, this.measure.total)} · ${formatValue(this.state.measure, sum)}` :
        "no match";
  }

  drawTabs() {
    for (const tab of TABS) {
      const isChosen = tab === this.state.tab;
      const button = byId(`tab-${tab}`);
      button.setAttribute("aria-selected", String(isChosen));
      button.tabIndex = isChosen ? 0 : -1;
      byId(`view-${tab}`).hidden = !isChosen;
    }
    const isData = ["flame", "table"].includes(this.state.tab);
    byId("tools").hidden = !isData;
    byId("invert").closest("label").hidden = this.state.tab !== "flame";
    byId("all-frames").closest("label").hidden = this.state.tab !== "flame";
    byId("group").closest("label").hidden = this.state.tab !== "table";
    byId("hidden-list").hidden = this.state.tab !== "flame" || !this.state.hidden.length;
    tip.hide();
  }

  drawHidden() {
    const chips = this.state.hidden.map(
        (f) => makeElement(
            "button", {
              type: "button",
              title: this.heap.name(f),
              "aria-label": `Show ${this.heap.shortName(f)} again`,
              onclick: () =>
                  this.change({hidden: this.state.hidden.filter((other) => other !== f), zoom: []}),
            },
            `${this.heap.shortName(f)} ×`));
    byId("hidden-list").replaceChildren(makeElement("span", {class: "quiet"}, "Hidden:"), ...chips);
    byId("hidden-list").hidden = this.state.tab !== "flame" || !chips.length;
  }

  drawCrumbs() {
    const path = pathOf(this.tree, this.flame.zoomed);
    byId("crumbs").hidden = !path.length;
    const crumb = (text, depth) => makeElement(
        "button",
        {type: "button", title: text, onclick: () => this.change({zoom: path.slice(0, depth)})},
        text);
    const shown = path.length > 6 ? path.slice(-6) : path;
    const skipped = path.length - shown.length;
    const link = (text) => makeElement("span", {}, text);
    const crumbs = shown.flatMap((f, i) => {
      return [link("›"), crumb(this.heap.shortName(f), skipped + i + 1)];
    });
    const gap = skipped ? [link("› …")] : [];
    byId("crumbs").replaceChildren(crumb("all", 0), ...gap, ...crumbs);
  }

  tellFocus(node, lines) {
    byId("flame-detail").textContent = lines.slice(0, 2).map(([, text]) => text).join("  —  ");
    byId("detail-actions").hidden = node === 0;
  }

  drawLegend() {
    const modules = [...this.colours.hues.keys()].slice(0, 5);
    byId("legend").replaceChildren(...modules.map((module) => {
      const swatch = makeElement("i");
      swatch.style.background = this.colours.module(module);
      const find = () => this.change({query: baseName(module)});
      return makeElement(
          "li", {},
          makeElement(
              "button", {type: "button", title: `Find ${module}`, onclick: find}, swatch,
              baseName(module)));
    }));
  }

  drawOnce() {
    const {facts} = this.heap;
    byId("command").textContent = facts.command;
    byId("command").title = facts.command;
    const {process} = facts;
    const known = [
      `pid ${process.pid} on ${process.host}`,
      process.state,
      plural(facts.thread_count, "thread"),
      plural(facts.site_count, "distinct stack"),
      process.started,
    ];
    byId("state").textContent = known.join("  ·  ");
    byId("state").title = known.join("  ·  ");
    const sentences = [...facts.caveats, ...facts.thinned, ...facts.cost];
    byId("caveats").hidden = false;
    const losses = [...facts.caveats, ...facts.thinned];
    const [isExact, none] = facts.small.length ?
        ["Exact to 1 %", "no loss changes a number by as much; About lists them"] :
        ["Complete and exact", "every event was recorded, with its whole stack"];
    byId("caveat-count").textContent =
        losses.length ? `${plural(losses.length, "thing")} to know` : isExact;
    byId("caveats").classList.toggle("is-clean", !losses.length);
    byId("caveat-first").textContent = losses[0] ?? none;
    byId("cost").textContent = facts.cost[0];
    byId("caveat-list").replaceChildren(...sentences.map((text) => makeElement("li", {}, text)));
    drawHistograms(byId("view-charts"), this.heap);
    drawThreads(byId("view-threads"), this.heap);
    drawAbout(byId("view-about"), this.heap);
    drawKeys(byId("keys"));
  }

  // The command and what stands below it, whole or cut; "more" where something is cut.
  showHead(isWhole = false) {
    this.isHeadWhole = isWhole;
    byId("command").closest(".head").classList.toggle("is-whole", isWhole);
    const isCut = (one) =>
        one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1;
    byId("more").hidden = !isWhole && ![byId("command"), byId("state")].some(isCut);
    byId("more").textContent = isWhole ? "less" : "more";
    byId("more").setAttribute("aria-expanded", String(isWhole));
  }

  // Show a site's whole stack in the flame graph.
  reveal(site) {
    const hidden = hiddenFunctions(this.heap, this.state);
    const path = this.heap.stack(site).map(({f}) => f).filter((f) => !hidden[f]);
    this.change({tab: "flame", zoom: this.state.inverted ? path : path.reverse(), query: ""});
    this.flame.focus(this.flame.zoomed);
    byId("flame").focus();
  }

  act(name) {
    const {flame, tree} = this;
    if (flame.focused === null || flame.focused === 0) return;
    const f = tree.function(flame.focused);
    if (name === "zoom") flame.choose(flame.focused);
    if (name === "hide") this.change({hidden: [...new Set([...this.state.hidden, f])], zoom: []});
    if (name === "table") this.change({tab: "table", query: queryFor(this.heap, f), row: null});
  }

  listen() {
    const change = (id, changes) =>
        byId(id).addEventListener("change", (event) => this.change(changes(event.target)));
    change("invert", (box) => ({inverted: box.checked, zoom: []}));
    change("all-frames", (box) => ({all: box.checked, zoom: []}));
    change("group", (list) => ({group: list.value, row: null}));
    byId("search").addEventListener("input", (event) => this.change({query: event.target.value}));
    byId("whole").addEventListener("click", () => this.pick(null));
    for (const name of ["zoom", "hide", "table"])
      byId(`act-${name}`).addEventListener("click", () => this.act(name));
    byId("more").addEventListener("click", () => this.showHead(!this.isHeadWhole));
    new ResizeObserver(() => this.showHead(this.isHeadWhole)).observe(byId("state").parentElement);
    byId("share").addEventListener("click", () => copyText(location.href));
    byId("theme").addEventListener(
        "click",
        () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark", this));
    byId("help").addEventListener("click", () => byId("keys").showModal());
    for (const tab of TABS) byId(`tab-${tab}`).addEventListener("click", () => this.change({tab}));
    byId("tab-flame").parentElement.addEventListener("keydown", (event) => this.pressTab(event));
    window.addEventListener("popstate", () => this.reload());
    window.addEventListener("hashchange", () => this.reload());
    window.addEventListener("resize", () => this.timeline.draw());
    matchMedia("(prefers-color-scheme: dark)")
        .addEventListener("change", () => setTheme(storedTheme(), this));
    document.addEventListener("keydown", (event) => this.press(event));
  }

  // The address was changed from outside: back, forward, or typed.
  reload() {
    if (location.hash.replace(/^#/, "") === writeAddress(this.state)) return;
    this.state = {
      ...DEFAULTS,
      measure: this.usual,
      usual: this.usual,
      ...readAddress(location.hash, this.heap)
    };
    this.draw(Object.keys(this.state));
  }

  pressTab(event) {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    const tab = TABS[(TABS.indexOf(this.state.tab) + step + TABS.length) % TABS.length];
    this.change({tab});
    byId(`tab-${tab}`).focus();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (event.key === "Escape") return this.escape(event);
    if (isTyping(event)) return;
    const keys = {
      "/": () => {
        if (!["flame", "table"].includes(this.state.tab)) this.change({tab: "flame"});
        byId("search").focus();
        byId("search").select();
      },
      "?": () => byId("keys").showModal(),
      i: () => this.change({inverted: !this.state.inverted, zoom: []}),
      a: () => this.change({all: !this.state.all, zoom: []}),
      h: () => this.act("hide"),
      t: () => this.act("table"),
      0: () => this.change({zoom: []}),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  // One step back, from the inside out: the search, the zoom, the picked time.
  escape(event) {
    const {state} = this;
    tip.hide();
    if (event.target === byId("search")) {
      this.change({query: ""});
      const next = state.tab === "table" ? byId("rows-body").querySelector('tr[tabindex="0"]') :
                                           byId("flame");
      next?.focus();
    } else if (event.target === byId("timeline")) this.pick(null);
    else if (state.zoom.length) this.change({zoom: state.zoom.slice(0, -1)});
    else if (state.query) this.change({query: ""});
    else this.pick(null);
  }
}

// Letters belong to a text field, and to a list, which looks for what begins with them. A box to
// tick takes none.
function isTyping(event) {
  const {target, key} = event;
  if (target.closest("select")) return /^[a-z0-9]$/i.test(key);
  return Boolean(target.closest("textarea, input:not([type=checkbox])"));
}
