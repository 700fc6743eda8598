// The list of traces: rows that go on are brought up to date in place; newer runs wait above.

import { isComposing } from "./enter.js";
import { applyFragment } from "./fragments.js";
import { tick } from "./times.js";
import { fetchText } from "./trace-detail.js";

const EVERY = 2000;
const box = document.querySelector("[data-rows]");
const button = document.querySelector("[data-live]");
const find = document.getElementById("find");

function isLive() {
  return button.getAttribute("aria-pressed") === "true";
}

async function refresh() {
  if (!isLive() || document.hidden) return;
  const ids = [...document.querySelectorAll("tr.live")].map((row) => row.dataset.id);
  const url = new URL(box.dataset.rows + box.dataset.query, location.href);
  url.searchParams.set("ids", ids.join(","));
  url.searchParams.set("newest", box.dataset.newest ?? "");
  url.searchParams.set("axis", box.dataset.axis ?? "");
  const text = await fetchText(url);
  if (text === null || !isLive()) return;
  const { rows, newer, text: sentence } = JSON.parse(text);
  for (const row of rows) applyFragment(row);
  if (!box.dataset.newest) {
    if (newer) location.reload();
    return;
  }
  const said = document.querySelector("[data-newer]");
  if (said.textContent !== sentence) said.textContent = sentence;
  const link = document.querySelector("[data-newer-link]");
  if (link) link.hidden = !newer;
}

button.addEventListener("click", () => {
  button.setAttribute("aria-pressed", String(!isLive()));
  refresh();
});

document.addEventListener("keydown", (event) => {
  const isFree = !event.target.matches("input, textarea, select") && !event.ctrlKey && !event.metaKey;
  if (event.key !== "/" || !isFree || event.altKey || isComposing(event)) return;
  event.preventDefault();
  find.focus();
  find.select();
});

tick();
setInterval(() => isLive() && tick(), 100);
setInterval(refresh, EVERY);
