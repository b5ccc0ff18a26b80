// Light or dark: as the system has it, until the reader says otherwise.

function storedTheme() {
  let stored = null;
  try {
    stored = localStorage.getItem("heapglass-theme");
  } catch {
    // Storage is closed to some pages opened from files.
  }
  return stored ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function setTheme(theme, report) {
  const before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = theme;
  try {
    if (before && before !== theme) localStorage.setItem("heapglass-theme", theme);
  } catch {
    // As above: then the choice lasts as long as the page.
  }
  report.colours.setTheme(theme === "dark");
  report.drawLegend();
  report.flame.draw();
  report.timeline.draw();
}
