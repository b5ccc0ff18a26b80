// The heap: functions, frames, the tree of stacks, sites with their counters, and their history.

const PLUMBING = 1;
const NAMED = 2;
const COUNTERS = ["live_blocks", "live_bytes", "allocations", "bytes_allocated"];
const CARRIED = "[changes too small to keep]";

class Heap {
  constructor(core, history) {
    this.facts = {...core.facts, ...history.facts};
    this.strings = core.facts.strings;
    this.columns = {...core.columns, ...history.columns};
    this.siteCount = core.columns.site_node.length;
    this.addCarriedSite();
    this.parents = findParents(this.columns.node_depth);
    this.momentTimes = history.columns.moment_time_ns;
    this.owners = this.findOwners();
    this.known = new Map();  // moment → counters of all sites then
  }

  // One more site, below the root, for what the history does not tell apart by site.
  addCarriedSite() {
    const columns = this.columns;
    const text = this.strings.push(CARRIED) - 1;
    const none = this.strings.push("") - 1;
    const f = columns.function_name.length;
    for (const name of ["name", "short_name"]) append(columns, `function_${name}`, text);
    for (const name of ["file", "module"]) append(columns, `function_${name}`, none);
    append(columns, "function_flags", 0);
    const frame = columns.frame_function.length;
    append(columns, "frame_function", f);
    append(columns, "frame_line", 0);
    append(columns, "frame_inlined", 0);
    const node = columns.node_depth.length;
    append(columns, "node_depth", 1);
    append(columns, "node_frame", frame);
    this.carried = this.siteCount;
    for (const name of Object.keys(columns)) {
      if (name.startsWith("site_")) append(columns, name, name === "site_node" ? node : 0);
    }
  }

  functionOf(node) { return this.columns.frame_function[this.columns.node_frame[node]]; }

  name(f) { return this.strings[this.columns.function_name[f]]; }

  shortName(f) { return this.strings[this.columns.function_short_name[f]]; }

  file(f) { return this.strings[this.columns.function_file[f]]; }

  module(f) { return this.strings[this.columns.function_module[f]]; }

  isPlumbing(f) { return (this.columns.function_flags[f] & PLUMBING) !== 0; }

  isNamed(f) { return (this.columns.function_flags[f] & NAMED) !== 0; }

  // What `heapglass leaks` calls it, "" where nothing remains.
  trendWord(trend) { return this.facts.trends[trend]; }

  // The frames of a site, innermost first.
  stack(site) {
    const {node_frame, frame_function, frame_line, frame_inlined} = this.columns;
    const frames = [];
    for (let node = this.columns.site_node[site]; node > 0; node = this.parents[node]) {
      const frame = node_frame[node];
      frames.push({
        node,
        f: frame_function[frame],
        line: frame_line[frame],
        isInlined: frame_inlined[frame] === 1
      });
    }
    return frames;
  }

  // For each site the node of the innermost frame that is no plumbing, or of the innermost one.
  findOwners() {
    const owner = new Int32Array(this.parents.length);
    for (let node = 1; node < owner.length; node += 1) {
      owner[node] = this.isPlumbing(this.functionOf(node)) ? owner[this.parents[node]] : node;
    }
    return Int32Array.from(this.columns.site_node, (node) => owner[node] || node);
  }

  place(node) {
    const f = this.functionOf(node);
    const file = this.file(f);
    const line = this.columns.frame_line[this.columns.node_frame[node]];
    if (file) return line ? `${file}:${line}` : file;
    return this.isNamed(f) ? this.module(f) : "";
  }

  // Counters of all sites at a moment, by name; what the history carries on is the last site's.
  at(moment) {
    if (!this.known.has(moment)) {
      if (this.known.size > 8) this.known.clear();
      this.known.set(moment, this.addUp(moment));
    }
    return this.known.get(moment);
  }

  addUp(moment) {
    const {moment_entries, entry_site} = this.columns;
    let end = 0;
    for (let k = 0; k <= moment; k += 1) end += moment_entries[k];
    const sums = {};
    for (const name of COUNTERS) {
      const change = this.columns[`entry_${name}`];
      const values = new Float64Array(this.siteCount + 1);
      let rest = moment < 0 ? 0 : this.columns[`moment_${name}`][moment];
      for (let i = 0; i < end; i += 1) {
        values[entry_site[i]] += change[i];
        rest -= change[i];
      }
      values[this.carried] = Math.max(0, rest);
      sums[name] = values;
    }
    return sums;
  }

  // What remains of what was allocated after moment `from` and until moment `to`.
  bornBetween(from, to) {
    const {birth_span, birth_site, birth_share, site_live_bytes} = this.columns;
    const values = new Float64Array(this.siteCount + 1);
    for (let i = 0; i < birth_span.length; i += 1) {
      if (birth_span[i] > from && birth_span[i] <= to) {
        values[birth_site[i]] += (site_live_bytes[birth_site[i]] * birth_share[i]) / 1e6;
      }
    }
    return values;
  }

  // The moment nearest to a time, -1 if there is none.
  momentNear(ns) {
    let best = -1;
    for (let k = 0; k < this.momentTimes.length; k += 1) {
      if (best < 0 || Math.abs(this.momentTimes[k] - ns) < Math.abs(this.momentTimes[best] - ns))
        best = k;
    }
    return best;
  }
}

function append(columns, name, value) {
  const old = columns[name];
  const longer = new old.constructor(old.length + 1);
  longer.set(old);
  longer[old.length] = value;
  columns[name] = longer;
}

function findParents(depths) {
  const parents = new Int32Array(depths.length);
  const last = [0];
  for (let node = 1; node < depths.length; node += 1) {
    parents[node] = last[depths[node] - 1];
    last[depths[node]] = node;
  }
  return parents;
}
