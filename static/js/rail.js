// The live rail's axis ends now. The server draws it at every event; in between it is stretched here:
// what has ended moves to the left, what is going on reaches to the end.

const drawn = new WeakMap();
const OPEN_FROM = 99;

export function stretchRail() {
  const rail = document.getElementById("rail-now");
  const length = Number(rail?.dataset.running ?? 0);
  if (!length) return;
  if (!drawn.has(rail)) drawn.set(rail, { at: performance.now(), shapes: shapesOf(rail) });
  const { at, shapes } = drawn.get(rail);
  const scale = length / (length + performance.now() - at);
  for (const { element, x, width } of shapes) {
    element.setAttribute("x", `${x * scale}%`);
    if (width === null) continue;
    const isOpen = x + width >= OPEN_FROM;
    element.setAttribute("width", `${isOpen ? 100 - x * scale : width * scale}%`);
  }
}

function shapesOf(rail) {
  return [...rail.querySelectorAll('[x$="%"]')].map((element) => ({
    element,
    x: parseFloat(element.getAttribute("x")),
    width: element.hasAttribute("width") ? parseFloat(element.getAttribute("width")) : null,
  }));
}
