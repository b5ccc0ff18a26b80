// The flame graph: boxes as wide as their share, callers above callees, or the other way round.

const ROW = 21;
const LEAST = 0.4;  // pixels; what is narrower is drawn together
const ZOOM_MS = 160;

class FlameGraph {
  constructor(canvas, scroller, extent, heap, colours, actions) {
    Object.assign(this, {canvas, scroller, extent, heap, colours, actions});
    this.view = [0, 1];  // what part of the root's width is shown
    this.zoomed = 0;
    this.focused = null;
    this.settle = null;  // where to scroll to when rows have been drawn
    this.above = byId("above");
    this.above.addEventListener("click", () => (this.scroller.scrollTop = 0));
    this.draw = onceAFrame(() => this.paint());
    this.listen();
  }

  // `content`: tree, measure, matches (functions, or null), path of the zoom.
  show(content) {
    const focus = this.focused === null || !this.tree ? null : pathOf(this.tree, this.focused);
    Object.assign(this, {tree: content.tree, measure: content.measure, matches: content.matches});
    this.total = this.tree.value(0);
    this.focused = focus && followPath(this.tree, focus);
    this.setZoom(followPath(this.tree, content.path), content.isAnimated);
  }

  setZoom(node, isAnimated) {
    this.zoomed = node;
    const target = this.spanOf(node);
    const isStill = !isAnimated || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (isStill) {
      this.flight = null;
      this.view = target;
    } else {
      this.flight = {from: this.view, to: target, start: performance.now()};
    }
    this.scrollPastTrunk();
    this.draw();
  }

  // Where a node lies, as two shares of the root's width.
  spanOf(node) {
    if (node === 0 || !this.total) return [0, 1];
    const size = this.tree.value(node) / this.total;
    let at = 0;
    for (; node !== 0; node = this.tree.parent(node)) {
      for (const sibling of this.tree.children(this.tree.parent(node))) {
        if (sibling === node) break;
        at += this.tree.value(sibling) / this.total;
      }
    }
    return [at, at + size];
  }

  step() {
    if (!this.flight) return;
    const {from, to, start} = this.flight;
    const part = Math.min(1, (performance.now() - start) / ZOOM_MS);
    const eased = 1 - (1 - part) ** 3;
    this.view = [0, 1].map((side) => from[side] + (to[side] - from[side]) * eased);
    if (part === 1) this.flight = null;
    else this.draw();
  }

  paint() {
    if (!this.tree || !this.scroller.clientWidth) return;
    this.step();
    this.width = this.scroller.clientWidth;
    const height = this.scroller.clientHeight;
    const context = fitCanvas(this.canvas, this.width, height);
    this.theme = {...pickColours(themeColours())};
    context.font = `12px ${this.theme.mono}`;
    context.textBaseline = "middle";
    this.letter ??= context.measureText("0123456789").width / 10;
    this.top = this.scroller.scrollTop;
    this.rows = [];
    this.deepest = 0;
    this.ancestors = new Set(ancestorsOf(this.tree, this.zoomed));
    if (this.total > 0) this.paintNodes(context);
    else this.paintNothing(context);
    this.canvas.dataset.boxes = this.rows.reduce((sum, row) => sum + (row?.length ?? 0), 0);
    // The canvas sticks to the top of what is scrolled, which is as high as all rows.
    this.tellAbove();
    this.extent.style.height =
        `${Math.ceil(Math.max(0, (this.deepest + 1) * ROW - height) / ROW) * ROW}px`;
    this.scrollToSettle();
  }

  // Rows that are scrolled out of sight are easily overlooked.
  tellAbove() {
    const rows = Math.ceil(this.top / ROW);
    this.above.hidden = rows < 1;
    this.above.textContent = `↑ ${plural(rows, "row")} above`;
  }

  // Once the rows are known that there are to scroll.
  scrollToSettle() {
    if (this.settle === null) return;
    this.scroller.scrollTop = this.settle;
    this.settle = null;
    if (this.scroller.scrollTop !== this.top) this.draw();
  }

  // Leave out of sight what says nothing: long chains of callers that all have nearly everything.
  scrollPastTrunk() {
    let [node, depth] = [this.zoomed, pathOf(this.tree, this.zoomed).length];
    for (let next = node;
         next !== undefined && this.tree.value(next) > 0.9 * this.tree.value(this.zoomed);
         depth += 1) {
      node = next;
      [next] = this.tree.children(node);
    }
    this.settle = Math.max(0, depth - 4) * ROW;
  }

  paintNothing(context) {
    context.fillStyle = this.theme.quiet;
    context.textAlign = "center";
    context.font = `13px ${this.theme.sans}`;
    context.fillText("Nothing here: no memory of this kind.", this.width / 2, 60);
    context.textAlign = "left";
  }

  // One by one: stacks may be deeper than scripts can call.
  paintNodes(context) {
    const ahead = [{node: 0, at: 0, size: 1, depth: 0}];
    while (ahead.length) ahead.push(...this.paintNode(context, ahead.pop()));
  }

  // Its box; the result are those below that are to be painted, too.
  paintNode(context, {node, at, size, depth}) {
    const [start, end] = this.view;
    const scale = this.width / (end - start);
    const left = Math.max(0, (at - start) * scale);
    const right = Math.min(this.width, (at + size - start) * scale);
    this.deepest = Math.max(this.deepest, depth);
    const y = depth * ROW - this.top;
    if (y > -ROW && y < this.scroller.clientHeight)
      this.paintBox(context, node, left, right - left, y, depth);
    const below = [];
    let next = at;
    for (const child of this.tree.children(node)) {
      const share = this.tree.value(child) / this.total;
      const isLeftOfView = next + share <= start;
      if (next >= end) break;
      if (share * scale < LEAST) {
        this.paintRest(context, Math.max(next, start), at + size, depth + 1, scale);
        break;
      }
      if (!isLeftOfView) below.push({node: child, at: next, size: share, depth: depth + 1});
      next += share;
    }
    return below;
  }

  paintBox(context, node, x, width, y, depth) {
    const f = this.tree.function(node);
    const isMatch = this.matches !== null && f >= 0 && this.matches[f] === 1;
    const isDim = this.ancestors.has(node) || (this.matches !== null && !isMatch);
    (this.rows[depth] ??= []).push({x, width, node});
    const gap = width > 3 ? 1 : 0;
    context.globalAlpha = isDim ? 0.42 : 1;
    context.fillStyle = isMatch ? this.theme.match : f < 0 ? this.theme.sunken : this.colours.of(f);
    context.fillRect(x, y + 1, Math.max(0.5, width - gap), ROW - 1);
    if (node === this.focused) {
      context.globalAlpha = 1;
      context.strokeStyle = this.theme.ink;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 2, Math.max(1, width - gap - 2), ROW - 3);
    }
    if (width > 5 * this.letter) this.paintText(context, node, f, {x, width, y, isMatch});
    context.globalAlpha = 1;
  }

  paintText(context, node, f, {x, width, y, isMatch}) {
    const letters = Math.floor((width - 10) / this.letter);
    const name = fitName(this.label(f), letters);
    context.fillStyle = isMatch ? this.theme.surface : this.theme.ink;
    context.fillText(name, x + 5, y + ROW / 2 + 1);
    const value = this.tree.value(node);
    const amount = `${formatValue(this.measure.measure, value)}  ${formatShare(value, this.total)}`;
    if (letters < name.length + amount.length + 3) return;
    context.globalAlpha *= 0.6;
    context.fillText(amount, x + width - 6 - amount.length * this.letter, y + ROW / 2 + 1);
  }

  // All that is too narrow to be seen, as one faint box, so that nothing seems to be missing.
  paintRest(context, from, to, depth, scale) {
    const left = (from - this.view[0]) * scale;
    const width = Math.min(this.width, (to - this.view[0]) * scale) - left;
    const y = depth * ROW - this.top;
    if (width < LEAST || y < -ROW || y > this.scroller.clientHeight) return;
    context.fillStyle = this.theme.line;
    context.fillRect(left, y + 1, width, ROW - 1);
  }

  label(f) { return f < 0 ? this.measure.words.whole : this.heap.shortName(f); }

  listen() {
    const {canvas} = this;
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw());
    canvas.addEventListener("pointermove", (event) => {
      const node = this.nodeAt(event);
      canvas.style.cursor = node === null ? "default" : "pointer";
      if (node === null) tip.hide();
      else tip.show(this.describe(node), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => tip.hide());
    canvas.addEventListener("click", (event) => {
      const node = this.nodeAt(event);
      if (node !== null) this.choose(node);
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("focus", () => {
      if (this.focused === null && this.total > 0) this.focus(this.zoomed);
    });
  }

  nodeAt(event) {
    const row = this.rows?.[Math.floor((event.offsetY + this.top) / ROW)] ?? [];
    const box = row.find(({x, width}) => event.offsetX >= x && event.offsetX < x + width);
    return box ? box.node : null;
  }

  choose(node) {
    this.focus(node);
    tip.hide();
    this.actions.zoom(pathOf(this.tree, node));
  }

  focus(node) {
    this.focused = node;
    const depth = pathOf(this.tree, node).length;
    const {scroller} = this;
    if (depth * ROW < scroller.scrollTop) scroller.scrollTop = depth * ROW - ROW;
    if ((depth + 1) * ROW > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = (depth + 2) * ROW - scroller.clientHeight;
    this.actions.focus(node, this.describe(node));
    this.draw();
  }

  press(event) {
    if (this.focused === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const {tree, focused} = this;
    const siblings = focused === 0 ? [0] : tree.children(tree.parent(focused));
    const place = siblings.indexOf(focused);
    const next = {
      ArrowUp: () => tree.parent(focused),
      ArrowDown: () => tree.children(focused)[0],
      ArrowLeft: () => siblings[place - 1],
      ArrowRight: () => siblings[place + 1],
      Home: () => 0,
    }[event.key];
    if (next) {
      event.preventDefault();
      const node = next();
      if (node !== undefined) this.reach(node);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(focused);
    }
  }

  // Focus a node, zooming out as far as it takes to see it.
  reach(node) {
    const inView = ancestorsOf(this.tree, node);
    if (node !== this.zoomed && !inView.includes(this.zoomed))
      this.actions.zoom(pathOf(this.tree, this.tree.parent(node)));
    this.focus(node);
  }

  // What is known of a node, as lines of a tooltip.
  describe(node) {
    const {tree, heap, measure} = this;
    const f = tree.function(node);
    const value = tree.value(node);
    const error = tree.error(node);
    const amount = wholeAmount(measure.measure, value, error);
    const shares = [`${formatShare(value, this.total)} of all`];
    if (node !== 0 && tree.parent(node) !== 0)
      shares.push(`${formatShare(value, tree.value(tree.parent(node)))} of the box above`);
    const lines = [
      ["b", f < 0 ? this.label(f) : heap.name(f)], ["em", `${amount}  ·  ${shares.join("  ·  ")}`]
    ];
    if (f < 0) return lines;
    const own = selfValue(tree, node);
    const ownMargin = marginOf(measure.measure, own, selfError(tree, node));
    if (own > 0 && own < value)
      lines.push(
          ["em", `${formatValue(measure.measure, own)}${ownMargin} of it in no further box`]);
    const places = [heap.file(f), heap.module(f)].filter(Boolean);
    return places.length ? [...lines, ...places.map((place) => ["span", place])] : lines;
  }
}

function selfError(tree, node) {
  const below = tree.children(node).reduce((sum, child) => sum + tree.error(child) ** 2, 0);
  return Math.sqrt(Math.max(0, tree.error(node) ** 2 - below));
}

function selfValue(tree, node) {
  return tree.children(node).reduce((rest, child) => rest - tree.value(child), tree.value(node));
}

function ancestorsOf(tree, node) {
  const found = [];
  while (node !== 0) {
    node = tree.parent(node);
    found.push(node);
  }
  return found;
}

function pickColours(theme) {
  const names = ["ink", "quiet", "line", "sunken", "surface", "match", "mono", "sans"];
  return Object.fromEntries(names.map((name) => [name, theme[name]]));
}

// The end of a name tells more than its namespaces.
function fitName(name, letters) {
  if (name.length <= letters) return name;
  const scopes = name.split("::");
  while (scopes.length > 1) {
    scopes.shift();
    const shorter = `…${scopes.join("::")}`;
    if (shorter.length <= letters) return shorter;
  }
  return letters < 3 ? "" : `${scopes[0].slice(0, letters - 1)}…`;
}
