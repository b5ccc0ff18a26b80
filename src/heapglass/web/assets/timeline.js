// Memory in use over the whole run: the curve, the peak, marks, and what is picked on it.

const AXIS = 17;      // below the plot, for times
const HEADROOM = 17;  // above the highest point, for its label
const CHURN = 5;      // the strip that shows how much was allocated when
const EDGE = 7;       // left and right, so that what lies at the ends is whole
const DRAG = 4;       // pixels from which a click is a drag

class Timeline {
  constructor(canvas, heap, onPick) {
    this.canvas = canvas;
    this.heap = heap;
    this.onPick = onPick;
    this.span = null;
    this.hover = null;
    this.points = curvePoints(heap);
    this.end = Math.max(heap.facts.duration_ns, this.points.at(-1)?.time ?? 0, 1);
    this.highest =
        Math.max(1, heap.facts.totals.peak_bytes, ...this.points.map((point) => point.live));
    this.longGap = 4 * medianGap(this.points);
    this.draw = onceAFrame(() => this.paint());
    this.listen();
  }

  show(span) {
    this.span = span;
    const canvas = this.canvas;
    const times = this.heap.momentTimes;
    canvas.setAttribute("aria-valuemin", "0");
    canvas.setAttribute("aria-valuemax", String(Math.max(0, times.length - 1)));
    canvas.setAttribute("aria-valuenow", String(span ? span.to : Math.max(0, times.length - 1)));
    canvas.setAttribute("aria-valuetext", describeSpan(this.heap, span));
    this.draw();
  }

  x(time) { return EDGE + (time / this.end) * (this.width - 2 * EDGE); }

  timeAt(x) { return Math.min(1, Math.max(0, (x - EDGE) / (this.width - 2 * EDGE))) * this.end; }

  y(bytes) { return this.floor - (bytes / this.highest) * (this.floor - HEADROOM); }

  paint() {
    this.width = this.canvas.parentElement.clientWidth;
    const height = this.canvas.parentElement.clientHeight;
    this.floor = height - AXIS - CHURN - 2;
    const context = fitCanvas(this.canvas, this.width, height);
    context.font = `11px ${themeColours().sans}`;
    const colours = themeColours();
    this.paintGrid(context, colours, height);
    this.paintSpan(context, colours);
    this.paintCurve(context, colours);
    this.paintChurn(context, colours);
    this.paintMoments(context, colours);
    this.paintMarks(context, colours);
    this.paintPeak(context, colours);
    this.paintHover(context, colours);
  }

  paintGrid(context, colours, height) {
    context.fillStyle = colours.quiet;
    context.textBaseline = "alphabetic";
    context.strokeStyle = colours.grid;
    context.lineWidth = 1;
    for (const bytes of sizeTicks(this.highest, 4)) {
      const y = Math.round(this.y(bytes)) + 0.5;
      line(context, 0, y, this.width, y);
      context.fillText(formatSize(bytes).replace(".0 ", " "), 2, y - 3);
    }
    context.textAlign = "center";
    for (const time of timeTicks(this.end, Math.max(2, this.width / 110))) {
      const text = time === 0 ?
          "0" :
          formatDuration(time).replace(".0 ", " ").replace(/(\d [mhd]) 0 \w$/, "$1");
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(this.x(time), half), this.width - half), height - 4);
    }
    context.textAlign = "left";
  }

  paintCurve(context, colours) {
    if (!this.points.length) return;
    context.beginPath();
    context.moveTo(this.x(this.points[0].time), this.floor);
    this.points.forEach(({time, live}, i) => {
      const before = this.points[i - 1];
      // No point for long: nothing was allocated or freed until just before this one.
      if (before && time - before.time > this.longGap)
        context.lineTo(this.x(time), this.y(before.live));
      context.lineTo(this.x(time), this.y(live));
    });
    context.strokeStyle = colours.curve;
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.stroke();
    context.lineTo(this.x(this.points.at(-1).time), this.floor);
    context.closePath();
    context.fillStyle = colours.area;
    context.fill();
  }

  // How much was allocated in each pixel's time, as a strip that is darker where it was more.
  paintChurn(context, colours) {
    const {points} = this;
    const amounts = new Float64Array(Math.ceil(this.width / 2));
    for (let i = 1; i < points.length; i += 1) {
      spread(
          amounts, this.x(points[i - 1].time) / 2, this.x(points[i].time) / 2,
          points[i].allocated - points[i - 1].allocated);
    }
    const most = Math.max(...amounts, 1);
    context.fillStyle = colours.churn;
    amounts.forEach((amount, slot) => {
      context.globalAlpha = 0.75 * Math.sqrt(amount / most);
      context.fillRect(slot * 2, this.floor + 3, 2, CHURN);
    });
    context.globalAlpha = 1;
  }

  paintMoments(context, colours) {
    context.fillStyle = colours.quiet;
    for (const time of this.heap.momentTimes)
      context.fillRect(this.x(time) - 0.5, this.floor - 3, 1, 4);
  }

  // Their names are at the top, or lower where the peak's label is.
  paintMarks(context, colours) {
    const peak = this.x(this.heap.facts.totals.peak_time_ns);
    for (const [time, name] of this.heap.facts.marks) {
      const x = Math.round(this.x(time)) + 0.5;
      context.strokeStyle = colours.match;
      context.setLineDash([2, 2]);
      line(context, x, 0, x, this.floor);
      context.setLineDash([]);
      context.fillStyle = colours.match;
      const text = name.length > 24 ? `${name.slice(0, 23)}…` : name;
      context.textAlign = x > this.width - 120 ? "right" : "left";
      const top = Math.abs(x - peak) < 140 ? 28 : 10;
      context.fillText(text, x + (context.textAlign === "left" ? 4 : -4), top);
      context.textAlign = "left";
    }
  }

  paintPeak(context, colours) {
    const {peak_time_ns: time, peak_bytes: bytes} = this.heap.facts.totals;
    if (!bytes) return;
    const [x, y] = [this.x(time), this.y(bytes)];
    context.fillStyle = colours.warm;
    context.beginPath();
    context.arc(x, y, 3.5, 0, 7);
    context.fill();
    const text = `peak ${formatSize(bytes)}`;
    context.font = `600 ${context.font}`;
    const half = context.measureText(text).width / 2;
    context.textAlign = "center";
    context.fillText(text, Math.min(Math.max(x, half), this.width - half), y - 6);
    context.font = context.font.replace("600 ", "");
    context.textAlign = "left";
  }

  paintSpan(context, colours) {
    const span = this.dragged ?? this.span;
    if (!span) return;
    const times = this.heap.momentTimes;
    const to = this.x(times[span.to]);
    const from = span.from === undefined ? to : this.x(times[span.from]);
    context.fillStyle = colours["pick-soft"];
    context.fillRect(from, 0, to - from, this.floor);
    context.strokeStyle = colours.pick;
    context.lineWidth = 1.5;
    for (const x of new Set([from, to])) line(context, x, 0, x, this.floor + CHURN + 3);
  }

  paintHover(context, colours) {
    if (this.hover === null) return;
    context.strokeStyle = colours.quiet;
    context.lineWidth = 1;
    line(context, Math.round(this.hover) + 0.5, 0, Math.round(this.hover) + 0.5, this.floor);
  }

  listen() {
    const {canvas} = this;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.heap.momentTimes.length) return;
      this.pressed = event.offsetX;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => {
      this.hover = null;
      tip.hide();
      this.draw();
    });
    canvas.addEventListener("dblclick", () => this.onPick(null));
    canvas.addEventListener("keydown", (event) => this.press(event));
  }

  momentAt(x) { return this.heap.momentNear(this.timeAt(x)); }

  spanBetween(a, b) {
    const [from, to] = [this.momentAt(Math.min(a, b)), this.momentAt(Math.max(a, b))];
    return from === to ? {to} : {from, to};
  }

  move(event) {
    this.hover = Math.min(Math.max(0, event.offsetX), this.width);
    const isDrag = this.pressed !== undefined && Math.abs(this.hover - this.pressed) >= DRAG;
    this.dragged = isDrag ? this.spanBetween(this.pressed, this.hover) : undefined;
    this.tell(event);
    this.draw();
  }

  release(event) {
    if (this.pressed === undefined) return;
    const isDrag = Math.abs(event.offsetX - this.pressed) >= DRAG;
    const span =
        isDrag ? this.spanBetween(this.pressed, event.offsetX) : {to: this.momentAt(event.offsetX)};
    this.pressed = undefined;
    this.dragged = undefined;
    this.onPick(span);
  }

  press(event) {
    const last = this.heap.momentTimes.length - 1;
    if (last < 0) return;
    const steps = {ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10};
    const here = this.span ? this.span.to : last;
    let to = {Home: 0, End: last}[event.key];
    if (event.key in steps)
      to = this.span ? Math.min(last, Math.max(0, here + steps[event.key])) : here;
    if (to === undefined) return;
    event.preventDefault();
    if (!event.shiftKey || !this.span) return this.onPick({to});
    const from = this.span.from ?? here;
    return this.onPick(from < to ? {from, to} : {to});
  }

  tell(event) {
    const time = this.timeAt(this.hover);
    const lines = [["b", formatDuration(time)]];
    const point = this.points.findLast((candidate) => candidate.time <= time);
    if (point) {
      const blocks = point.blocks === null ? "" : `, ${plural(point.blocks, "block")}`;
      lines.push(["em", `${formatSize(point.live)} in use${blocks}`]);
    }
    for (const [at, name] of this.heap.facts.marks) {
      if (Math.abs(this.x(at) - this.hover) < 5) lines.push(["span", `mark: ${name}`]);
    }
    const moment = this.momentAt(this.hover);
    if (moment >= 0)
      lines.push(["span", `nearest snapshot: ${formatDuration(this.heap.momentTimes[moment])}`]);
    tip.show(lines, event.clientX, event.clientY);
  }
}

// The timeline's points, with the start, the exact peak and the end among them.
function curvePoints(heap) {
  const c = heap.columns;
  const {totals, duration_ns} = heap.facts;
  const points = Array.from(c.point_time_ns, (time, i) => ({
                                               time,
                                               live: c.point_live_bytes[i],
                                               blocks: c.point_live_blocks[i],
                                               allocated: c.point_bytes_allocated[i],
                                             }));
  if (!totals.allocations) return points;
  const allocatedBy = (time) => points.findLast((point) => point.time <= time)?.allocated ?? 0;
  const peak = {
    time: totals.peak_time_ns,
    live: totals.peak_bytes,
    blocks: null,
    allocated: allocatedBy(totals.peak_time_ns)
  };
  const end = {
    time: duration_ns,
    live: totals.live_bytes,
    blocks: totals.live_blocks,
    allocated: totals.bytes_allocated
  };
  const start = {time: 0, live: 0, blocks: 0, allocated: 0};
  return [start, ...points, peak, end].sort((a, b) => a.time - b.time);
}

function medianGap(points) {
  const gaps = points.slice(1).map((point, i) => point.time - points[i].time).sort((a, b) => a - b);
  return gaps.length ? gaps[gaps.length >> 1] : 0;
}

function describeSpan(heap, span) {
  const times = heap.momentTimes;
  if (!span) return "Whole run";
  if (span.from === undefined) return `At ${formatDuration(times[span.to])}`;
  return `From ${formatDuration(times[span.from])} to ${formatDuration(times[span.to])}`;
}

// Share an amount out between the slots from one place to another.
function spread(slots, from, to, amount) {
  const width = Math.max(to - from, 1e-3);
  for (let slot = Math.floor(from); slot < Math.min(to, slots.length); slot += 1) {
    const part = Math.min(slot + 1, to) - Math.max(slot, from);
    slots[slot] += Math.max(0, amount) * (to - from > 1e-3 ? part / width : 1);
  }
}

function sizeTicks(highest, count) {
  const step = niceStep(highest / count, sizeBase === 1024 ? 2 : 10);
  const ticks = [];
  for (let bytes = step; bytes <= highest; bytes += step) ticks.push(bytes);
  return ticks.slice(0, 8);
}

// The next of 1, 2, 4, 8… or of 1, 2, 5, 10…
function niceStep(rough, base) {
  if (base === 2) return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, rough))));
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
}

function timeTicks(end, count) {
  const rough = end / count;
  const long =
      [60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((seconds) => seconds * 1e9);
  const step = rough > 3e10 ?
      long.find((candidate) => candidate >= rough) ?? niceStep(rough / 86400e9, 10) * 86400e9 :
      niceStep(rough, 10);
  const ticks = [];
  for (let time = 0; time <= end; time += step) ticks.push(time);
  return ticks;
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}
