// Sizes, counts, shares and durations as people read them; the same words as on the terminal.

const SIZE_NAMES = {
  1024: ["B", "KiB", "MiB", "GiB", "TiB", "PiB"],
  1000: ["B", "kB", "MB", "GB", "TB", "PB"]
};
const COUNT_NAMES = ["", " k", " M", " G", " T"];
let sizeBase = 1024;

function useUnits(base) { sizeBase = base; }

function decimals(value) { return value < 99.95 ? value.toFixed(1) : Math.round(value).toFixed(0); }

function scale(value, base, names) {
  let power = 0;
  while (power + 1 < names.length && Number(decimals(value)) >= base) {
    value /= base;
    power += 1;
  }
  return [value, power];
}

function formatSize(size) {
  if (size < 0) return `-${formatSize(-size)}`;
  const names = SIZE_NAMES[sizeBase];
  if (size < sizeBase) return `${Math.round(size)} B`;
  const [value, power] = scale(size / sizeBase, sizeBase, names.slice(1));
  return `${decimals(value)} ${names[power + 1]}`;
}

function formatCount(count) { return Math.round(count).toLocaleString("en-US"); }

function formatCompact(count) {
  if (count < 0) return `-${formatCompact(-count)}`;
  if (count < 10000) return formatCount(count);
  const [value, power] = scale(count / 1000, 1000, COUNT_NAMES.slice(1));
  return `${decimals(value)}${COUNT_NAMES[power + 1]}`;
}

// One decimal below ten percent: small things are looked at here.
function formatShare(part, whole) {
  if (!(whole > 0)) return "–";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  return `${percent < 9.95 ? percent.toFixed(1) : Math.round(percent)}%`;
}

function formatDuration(ns) {
  if (ns < 0) return `-${formatDuration(-ns)}`;
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  for (const [name, unit, limit] of [["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, 6e10]]) {
    const text = decimals(ns / unit);
    if (Number(text) * unit < limit) return `${text} ${name}`;
  }
  const seconds = Math.round(ns / 1e9);
  const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  const first = units.findIndex(([, unit]) => seconds >= unit);
  const [name, unit] = units[first];
  const [minorName, minor] = units[first + 1];
  const rest = Math.floor((seconds % unit) / minor);
  return `${Math.floor(seconds / unit)} ${name} ${rest} ${minorName}`;
}

function plural(count, noun) { return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`; }
