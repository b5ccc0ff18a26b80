// Trees of functions made of all stacks: from callers to callees, or the other way round.
//
// Both answer the same questions: function, parent, value and children of a node, largest first.
// Node 0 is the root. Functions whose `hidden` is 1 are left out, as if their callers had called
// what they call.

class CalleeTree {
  constructor(heap, hidden) {
    this.functions = [-1];
    this.parents = [0];
    this.place = new Int32Array(heap.parents.length);  // node of the heap → node here
    const functionCount = heap.columns.function_name.length;
    const children = new Map();
    for (let node = 1; node < this.place.length; node += 1) {
      const parent = this.place[heap.parents[node]];
      const f = heap.functionOf(node);
      if (hidden[f]) {
        this.place[node] = parent;
        continue;
      }
      const key = parent * functionCount + f;
      let mine = children.get(key);
      if (mine === undefined) {
        mine = this.functions.push(f) - 1;
        this.parents.push(parent);
        children.set(key, mine);
      }
      this.place[node] = mine;
    }
    this.siteNodes = heap.columns.site_node;
    this.listChildren();
  }

  listChildren() {
    const count = this.parents.length;
    this.first = new Int32Array(count + 1);
    for (let node = 1; node < count; node += 1) this.first[this.parents[node] + 1] += 1;
    for (let node = 0; node < count; node += 1) this.first[node + 1] += this.first[node];
    const next = this.first.slice();
    this.childList = new Int32Array(count);
    for (let node = 1; node < count; node += 1) this.childList[next[this.parents[node]]++] = node;
  }

  measure(values, errors) {
    this.values = this.addUp(values, (value) => value);
    this.squares = errors && this.addUp(errors, (error) => error * error);
    this.sorted = new Map();
  }

  addUp(column, weigh) {
    const sums = new Float64Array(this.parents.length);
    for (let site = 0; site < column.length; site += 1) {
      sums[this.place[this.siteNodes[site]]] += weigh(column[site]);
    }
    // Parents come before their children.
    for (let node = sums.length - 1; node > 0; node -= 1) sums[this.parents[node]] += sums[node];
    return sums;
  }

  function(node) { return this.functions[node]; }

  parent(node) { return this.parents[node]; }

  value(node) { return this.values[node]; }

  error(node) { return this.squares ? Math.sqrt(this.squares[node]) : 0; }

  children(node) {
    let list = this.sorted.get(node);
    if (!list) {
      const values = this.values;
      list = Array.from(this.childList.subarray(this.first[node], this.first[node + 1]));
      list = list.filter((child) => values[child] > 0).sort((a, b) => values[b] - values[a]);
      this.sorted.set(node, list);
    }
    return list;
  }
}

// From the allocating functions out to their callers. A whole such tree can be a hundred times as
// large as the other one, so nodes are made when they are first asked for.
class CallerTree {
  constructor(heap, hidden) {
    this.heap = heap;
    const shown = new Int32Array(heap.parents.length);  // itself, or its nearest shown caller
    for (let node = 1; node < shown.length; node += 1) {
      shown[node] = hidden[heap.functionOf(node)] ? shown[heap.parents[node]] : node;
    }
    this.shown = shown;
  }

  measure(values, errors) {
    const sites = [];
    for (let site = 0; site < values.length; site += 1)
      if (values[site] > 0) sites.push(site);
    this.columns = {values, errors};
    this.nodes = [];
    this.make(-1, 0, sites, sites.map((site) => this.shown[this.heap.columns.site_node[site]]));
  }

  make(f, parent, sites, cursors) {
    const {values, errors} = this.columns;
    let value = 0;
    let square = 0;
    for (const site of sites) {
      value += values[site];
      if (errors) square += errors[site] * errors[site];
    }
    return this.nodes.push({f, parent, value, square, sites, cursors, children: null}) - 1;
  }

  function(node) { return this.nodes[node].f; }

  parent(node) { return this.nodes[node].parent; }

  value(node) { return this.nodes[node].value; }

  error(node) { return Math.sqrt(this.nodes[node].square); }

  children(node) {
    const own = this.nodes[node];
    own.children ??= this.split(node, own);
    return own.children;
  }

  split(node, own) {
    const {heap, shown} = this;
    const groups = new Map();
    own.sites.forEach((site, i) => {
      const cursor = own.cursors[i];
      if (cursor === 0) return;  // its outermost caller has been reached
      const f = heap.functionOf(cursor);
      let group = groups.get(f);
      if (!group) groups.set(f, (group = {sites: [], cursors: []}));
      group.sites.push(site);
      group.cursors.push(shown[heap.parents[cursor]]);
    });
    const made = Array.from(groups, ([f, {sites, cursors}]) => this.make(f, node, sites, cursors));
    return made.sort((a, b) => this.nodes[b].value - this.nodes[a].value);
  }
}

function pathOf(tree, node) {
  const path = [];
  for (; node > 0; node = tree.parent(node)) path.unshift(tree.function(node))
      ;
      return path;
}

// The node that a path of functions leads to, as far as it does.
function followPath(tree, path) {
      let node = 0;
      for (const f of path) {
    const next = tree.children(node).find((child) => tree.function(child) === f);
          if (next === undefined) break;
          node = next;
  }
  return node;
      }
