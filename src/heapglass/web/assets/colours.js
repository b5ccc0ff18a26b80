// A colour for each module: the largest get hues of their own, plumbing and the rest are grey.

const HUES = [62, 205, 145, 300, 20, 250, 105, 340, 175, 275];

class Colours {
  constructor(heap) {
    this.heap = heap;
    this.hues = new Map();
    this.cache = new Map();
    moduleWeights(heap)
        .slice(0, HUES.length)
        .forEach((module, place) => this.hues.set(module, HUES[place]));
  }

  setTheme(isDark) {
    this.isDark = isDark;
    this.cache.clear();
  }

  module(module) { return this.shade(this.hues.get(module), 0); }

  // Of one function: its module's hue, a little off, so that neighbours can be told apart.
  of(f) {
    let colour = this.cache.get(f);
    if (!colour) {
      const {heap} = this;
      const isGrey = heap.isPlumbing(f) || !heap.module(f);
      colour = this.shade(isGrey ? undefined : this.hues.get(heap.module(f)), ((f * 7) % 9) - 4);
      this.cache.set(f, colour);
    }
    return colour;
  }

  shade(hue, step) {
    const chroma = this.isDark ? 0.075 : 0.078;
    const light = this.isDark ? 0.425 + 0.01 * step : 0.862 + 0.009 * step;
    if (hue === undefined) return `oklch(${this.isDark ? 0.38 : 0.885} 0.006 80)`;
    return `oklch(${light.toFixed(3)} ${chroma} ${hue + 4 * step})`;
  }
}

// How wide the boxes of each module are together, the widest first. Of the whole run: colours must
// not change with what is looked at.
function moduleWeights(heap) {
  const {site_node, site_peak_bytes, site_bytes_allocated, function_module} = heap.columns;
  const inside = new Float64Array(heap.parents.length);
  site_node.forEach(
      (node, site) => (inside[node] += site_peak_bytes[site] + 1e-3 * site_bytes_allocated[site]));
  const sums = new Float64Array(heap.strings.length);
  for (let node = inside.length - 1; node > 0; node -= 1) {
    inside[heap.parents[node]] += inside[node];
    const f = heap.functionOf(node);
    if (!heap.isPlumbing(f)) sums[function_module[f]] += inside[node];
  }
  const modules = [...sums.keys()].filter((module) => sums[module] > 0 && heap.strings[module]);
  return modules.sort((a, b) => sums[b] - sums[a]).map((module) => heap.strings[module]);
}

function baseName(path) { return path.slice(path.lastIndexOf("/") + 1); }
