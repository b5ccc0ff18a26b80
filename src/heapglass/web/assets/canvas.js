// What both canvases need: sharp pixels, the theme's colours, one redraw a frame.

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
  return new Proxy({}, {get: (_, name) => style.getPropertyValue(`--${name}`).trim()});
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
