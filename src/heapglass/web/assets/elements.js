// Elements of the page: found, made, shown beside the pointer, copied from.

const byId = (id) => document.getElementById(id);

const tip = {
  // `lines` are [element name, text]; beside the pointer, and inside the window.
  show(lines, x, y) {
    const element = document.getElementById("tip");
    element.replaceChildren(...lines.map(([name, text]) => makeElement(name, {}, text)));
    element.hidden = false;
    const box = element.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth - 8 ? x - 14 - box.width : x + 14;
    const top = y + 16 + box.height > innerHeight - 8 ? y - 12 - box.height : y + 16;
    element.style.left = `${Math.max(8, left)}px`;
    element.style.top = `${Math.max(8, top)}px`;
  },
  hide() { document.getElementById("tip").hidden = true; },
};

// An element with attributes and children; strings become text, never markup.
function makeElement(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined)
      element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

async function copyText(text) {
  const button = byId("share");
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // Pages opened from a file may not write to the clipboard everywhere.
    window.prompt("Copy this:", text);
  }
  setTimeout(() => (button.textContent = "Copy link"), 1500);
}
