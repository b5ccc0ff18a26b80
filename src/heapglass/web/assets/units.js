// Sizes, counts, shares and durations as people read them; the same words as on the terminal.

const SIZE_NAMES = {
  1024: ["B", "KiB", "MiB", "GiB", "TiB", "PiB"],
  1000: ["B", "kB", "MB", "GB", "TB", "PB"]
};
const COUNT_NAMES = ["", " k", " M", " G", " T", " P", " E"];
let sizeBase = 1024;

function useUnits(base) { sizeBase = base; }

// One decimal below a hundred, none from there on. Whole numbers until the end: a quotient would
// already be rounded, and 1.45 would become 1.4.
function decimals(value, unit) {
  const tenths = Math.floor((Math.round(value) * 10 + unit / 2) / unit);
  return tenths < 1000 ? (tenths / 10).toFixed(1) : String(Math.floor((value + unit / 2) / unit));
}

// The number as shown, and the power of `base` that it is shown in.
function scale(value, base, powers) {
  let power = 1;
  while (power < powers && Number(decimals(value, base ** power)) >= base) power += 1;
  return [decimals(value, base ** power), power];
}

function formatSize(size) {
  if (size < 0) return `-${formatSize(-size)}`;
  if (size < sizeBase) return `${Math.round(size)} B`;
  const names = SIZE_NAMES[sizeBase];
  const [number, power] = scale(size, sizeBase, names.length - 1);
  return `${number} ${names[power]}`;
}

// The standard error of a value, with the unit that this is shown in; nothing where it is below
// what rounding does anyway.
function formatMargin(value, error, isCount) {
  if (!isMargin(value, error)) return "";
  const [base, least, names] =
      isCount ? [1000, 10000, COUNT_NAMES] : [sizeBase, sizeBase, SIZE_NAMES[sizeBase]];
  const power = Math.abs(value) < least ? 0 : scale(Math.abs(value), base, names.length - 1)[1];
  const number = error / base ** power;
  const unit = isCount || power ? names[power].trimStart() : "B";
  return ` ± ${number.toFixed(number < 10 ? 1 : 0)}${unit && ` ${unit}`}`;
}

// A value and its margin share one unit: "1023", " ± 102", " MiB".
function estimateParts(text, margin) {
  const gap = text.lastIndexOf(" ");
  const unit = gap < 0 ? "" : text.slice(gap);
  if (!unit || !margin.endsWith(unit)) return [text, margin, ""];
  return [text.slice(0, gap), margin.slice(0, -unit.length), unit];
}

// Behind a count with all its digits.
function countMargin(count, error) {
  return isMargin(count, error) ? ` ± ${formatCount(error)}` : "";
}

function isMargin(value, error) { return error > 0 && error * 1000 >= Math.abs(value); }

function formatCount(count) { return Math.round(count).toLocaleString("en-US"); }

function formatCompact(count) {
  if (count < 0) return `-${formatCompact(-count)}`;
  if (count < 10000) return formatCount(count);
  const [number, power] = scale(count, 1000, COUNT_NAMES.length - 1);
  return `${number}${COUNT_NAMES[power]}`;
}

// One decimal below ten percent, and where all but a little is no "100%": small things are looked
// at here.
function formatShare(part, whole) {
  if (!(whole > 0)) return "–";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.05) return "<0.1%";
  if (percent >= 99.5 && percent < 100) return `${(Math.floor(percent * 10) / 10).toFixed(1)}%`;
  return `${percent < 9.95 ? percent.toFixed(1) : Math.round(percent)}%`;
}

function formatDuration(ns) {
  if (ns < 0) return `-${formatDuration(-ns)}`;
  if (ns < 1e3) return `${Math.round(ns)} ns`;
  for (const [name, unit, limit] of [["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, 6e10]]) {
    const text = decimals(ns, unit);
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
