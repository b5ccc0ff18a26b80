// What both canvases need: sharp pixels, the theme's colours, one redraw a frame; and the tooltip.

// Fit the canvas to a size in CSS pixels; the context draws in these.
function fitCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const columns = Math.max(1, Math.round(width * ratio));
  const rows = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== columns || canvas.height !== rows) {
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function themeColours() {
  const style = getComputedStyle(document.documentElement);
  return new Proxy({}, { get: (_, name) => style.getPropertyValue(`--${name}`).trim() });
}

// `draw`, called at most once a frame however often it is asked for.
function onceAFrame(draw) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      draw();
    });
  };
}

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
  hide() {
    document.getElementById("tip").hidden = true;
  },
};

// An element with attributes and children; strings become text, never markup.
function makeElement(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
