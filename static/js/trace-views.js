// Timeline and flame: fetched when they are first looked at, kept up to date while the run goes on, walked by arrows.

import { replaceChildren } from "./fragments.js";
import { fetchText } from "./trace-detail.js";

const EVERY = 2000;
const panes = [...document.querySelectorAll("[data-fetch]")];
const detail = () => document.getElementById("detail");

function blocks(pane) {
  return [...pane.querySelectorAll("[data-block-of]")];
}

async function fill(pane) {
  if (pane.dataset.busy) return;
  pane.dataset.busy = "true";
  const span = detail()?.dataset.span ?? "";
  const html = await fetchText(`${pane.dataset.fetch}?span=${encodeURIComponent(span)}`);
  delete pane.dataset.busy;
  if (html === null) return;
  const held = document.activeElement?.dataset?.blockOf;
  const isHere = pane.contains(document.activeElement);
  replaceChildren(pane.querySelector("[data-pic]"), html);
  rove(pane, isHere ? held : "");
}

// One block of a picture is reached by Tab, the others from there by arrows.
function rove(pane, held = "") {
  const all = blocks(pane);
  const chosen = all.find((block) => block.dataset.blockOf === held);
  const first = chosen ?? all.find((block) => block.hasAttribute("aria-current")) ?? all[0];
  for (const block of all) block.setAttribute("tabindex", block === first ? "0" : "-1");
  if (chosen) chosen.focus();
}

function mark() {
  const span = detail()?.dataset.span;
  for (const block of panes.flatMap(blocks)) {
    if (block.dataset.blockOf === span) block.setAttribute("aria-current", "true");
    else block.removeAttribute("aria-current");
  }
}

function middle(block) {
  const box = block.getBoundingClientRect();
  return { x: box.left + box.width / 2, y: box.top + box.height / 2, left: box.left };
}

// Left and right go on in time within a row or lane; up and down to the nearest block of another one.
function neighbour(block, key) {
  const all = blocks(block.closest("[data-fetch]"));
  const from = middle(block);
  const isBeside = (at) => Math.abs(at.y - from.y) < 6;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const lane = all.filter((other) => isBeside(middle(other)));
    lane.sort((one, other) => middle(one).left - middle(other).left);
    return lane[lane.indexOf(block) + (key === "ArrowRight" ? 1 : -1)];
  }
  const step = key === "ArrowDown" ? 1 : -1;
  const ahead = all.filter((other) => (middle(other).y - from.y) * step > 6);
  const far = (at) => Math.abs(at.y - from.y) * 1000 + Math.abs(at.x - from.x);
  return ahead.reduce((best, other) => (best && far(middle(best)) <= far(middle(other)) ? best : other), undefined);
}

document.addEventListener("keydown", (event) => {
  const block = event.target.closest?.("[data-block-of]");
  if (!block || !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
  event.preventDefault();
  const next = neighbour(block, event.key);
  if (!next) return;
  block.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});

const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const pane = entry.target;
    if (entry.isIntersecting && !pane.querySelector("[data-picture]")) fill(pane);
  }
});
for (const pane of panes) {
  seen.observe(pane);
  rove(pane);
}
new MutationObserver(mark).observe(document.querySelector(".right"), { childList: true });

let wasRunning = document.body.hasAttribute("data-running");
const timer = setInterval(() => {
  if (!wasRunning) {
    clearInterval(timer);
    return;
  }
  wasRunning = document.body.hasAttribute("data-running");
  for (const pane of panes) if (!pane.hidden) fill(pane);
  if (!wasRunning) for (const pane of panes) if (pane.hidden) pane.querySelector("[data-pic]").replaceChildren();
}, EVERY);
