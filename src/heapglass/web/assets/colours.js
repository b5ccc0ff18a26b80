// A colour for each module: the largest get hues of their own, plumbing and the rest are grey.

const HUES = [205, 55, 145, 300, 95, 25, 255, 340, 175, 75];

class Colours {
  constructor(heap) {
    this.heap = heap;
    this.hues = new Map();
    this.cache = new Map();
    const weights = moduleWeights(heap);
    for (const module of [...weights.keys()].slice(0, HUES.length)) this.hues.set(module, HUES[this.hues.size]);
  }

  setTheme(isDark) {
    this.isDark = isDark;
    this.cache.clear();
  }

  module(module) {
    return this.shade(this.hues.get(module), 0);
  }

  // Of one function: its module's hue, a little lighter or darker than its neighbours.
  of(f) {
    let colour = this.cache.get(f);
    if (!colour) {
      const { heap } = this;
      const isGrey = heap.isPlumbing(f) || !heap.module(f);
      colour = this.shade(isGrey ? undefined : this.hues.get(heap.module(f)), ((f * 7) % 5) - 2);
      this.cache.set(f, colour);
    }
    return colour;
  }

  shade(hue, step) {
    const chroma = hue === undefined ? 0.006 : this.isDark ? 0.075 : 0.078;
    const light = this.isDark ? 0.425 + 0.014 * step : 0.862 + 0.013 * step;
    return `oklch(${light.toFixed(3)} ${chroma} ${hue ?? 80})`;
  }
}

// Bytes allocated by module of the owner, the largest first: colours must not change with what is
// looked at.
function moduleWeights(heap) {
  const weights = new Map();
  heap.owners.forEach((node, site) => {
    const f = heap.functionOf(node);
    const module = heap.module(f);
    if (!module || heap.isPlumbing(f)) return;
    const weight = heap.columns.site_peak_bytes[site] + 1e-3 * heap.columns.site_bytes_allocated[site];
    weights.set(module, (weights.get(module) ?? 0) + weight);
  });
  return new Map([...weights].sort((a, b) => b[1] - a[1]));
}

function baseName(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
