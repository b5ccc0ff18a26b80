// The rows of the table: which there are, what they are called, and in what order they come.

// Rows of a grouping, with anything in the columns: keys, values by measure, and functions of a
// row's number for its texts.
function groupRows(heap, content) {
  const sites = [];
  for (let site = 0; site <= heap.siteCount; site += 1) {
    if ((!content.matches || content.matches[site]) &&
        content.columns.some((name) => content.measures[name].values[site] > 0))
      sites.push(site);
  }
  return content.group === "stack" ? stackRows(heap, content, sites) :
                                     ownerRows(heap, content, sites);
}

function stackRows(heap, content, sites) {
  const owner = (row) => heap.functionOf(heap.owners[sites[row]]);
  return {
    keys: sites,
    values: mapMeasures(
        (name) => Float64Array.from(sites, (site) => content.measures[name].values[site])),
    error: (name, row) => content.measures[name].errors?.[sites[row]] ?? 0,
    name: (row) => heap.shortName(owner(row)),
    title: (row) => heap.name(owner(row)),
    place: (row) => heap.place(heap.owners[sites[row]]),
    callers: (row) => callersText(heap, sites[row]),
    count: () => 1,
    largest: (row) => sites[row],
    trend: (row) => heap.columns.site_trend[sites[row]],
  };
}

function ownerRows(heap, content, sites) {
  const column =
      {function: null,
       file: heap.columns.function_file,
       module: heap.columns.function_module}[content.group];
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
    values: mapMeasures(
        (name) => Float64Array.from(
            members,
            (list) => list.reduce((sum, site) => sum + content.measures[name].values[site], 0))),
    error: (name, row) => {
      const {errors} = content.measures[name];
      return errors ? Math.sqrt(members[row].reduce((sum, site) => sum + errors[site] ** 2, 0)) : 0;
    },
    name: (row) => (column ? text(row) : heap.shortName(keys[row])),
    title: text,
    place: (row) => plural(members[row].length, "stack"),
    callers: () => "",
    count: (row) => members[row].length,
    largest: (row) =>
        members[row].reduce((best, site) => (current[site] > current[best] ? site : best)),
    trend: (row) => mostCertain(members[row].map((site) => heap.columns.site_trend[site])),
  };
}

// The nearest callers of a site's owner: where all is allocated by one wrapper, they tell more.
function callersText(heap, site) {
  const names = [];
  const own = heap.functionOf(heap.owners[site]);
  for (let node = heap.parents[heap.owners[site]]; node > 0 && names.length < 3;
       node = heap.parents[node]) {
    const f = heap.functionOf(node);
    if (f !== own && !heap.isPlumbing(f) && heap.shortName(f) !== names.at(-1))
      names.push(heap.shortName(f));
  }
  return names.map((name) => ` ← ${name}`).join("");
}

// The page's trends are numbered from the most certain one down, from 1; 0: nothing remains.
function mostCertain(trends) {
  const least = trends.reduce((best, trend) => (trend && trend < best ? trend : best), Infinity);
  return least === Infinity ? 0 : least;
}

function mapMeasures(make) {
  return Object.fromEntries(MEASURES.map((name) => [name, make(name)]));
}

function sortRows(rows, {sort}) {
  const order = rows.keys.map((_, row) => row);
  if (sort in rows.values) {
    const values = rows.values[sort];
    return order.sort((a, b) => values[b] - values[a] || a - b);
  }
  if (sort === "trend") {
    const rank = order.map((row) => rows.trend(row) || Infinity);
    const live = rows.values.leaked;
    return order.sort((a, b) => rank[a] - rank[b] || live[b] - live[a] || a - b);
  }
  const texts = order.map((row) => rows[sort](row));
  return order.sort((a, b) => (texts[a] < texts[b] ? -1 : texts[a] > texts[b] ? 1 : a - b));
}
