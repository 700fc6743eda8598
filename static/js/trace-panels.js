// Ledger, context growth and the cards below the tree: fetched after the page of a large trace, and anew while a run goes on.

import { replaceChildren } from "./fragments.js";
import { fetchText } from "./trace-detail.js";

const PAUSE = 250;

const ledgerPane = () => document.querySelector('[data-view-pane="ledger"]');

// Brings the panels up to date; the ledger, which may be long, only where it is looked at.
export async function bringPanels() {
  const query = ledgerPane().hidden ? "" : "?ledger=1";
  const html = await fetchText(document.body.dataset.panels + query);
  if (html === null) return;
  const box = document.createElement("div");
  replaceChildren(box, html);
  const shown = document.querySelector('[data-growth][aria-pressed="true"]')?.dataset.growth;
  for (const fresh of [...box.firstElementChild.children]) document.getElementById(fresh.id)?.replaceWith(fresh);
  if (!query) document.getElementById("ledger").setAttribute("data-later", "");
  if (shown) showGrowth(shown);
}

// Fetches what did not come with the page, or is older than the rest, when it is about to be seen.
export function fillPanels() {
  for (const panel of document.querySelectorAll("[data-later]")) near.observe(panel);
}

// Who only passes by on the way to the next trace asks for nothing.
function bringAwaited(seen) {
  if (seen.some((panel) => panel.isConnected && panel.hasAttribute("data-later"))) bringPanels();
}

const near = new IntersectionObserver(
  (entries) => {
    const seen = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    for (const panel of seen) near.unobserve(panel);
    if (seen.length) setTimeout(() => bringAwaited(seen), PAUSE);
  },
  { rootMargin: "50%" },
);

export function showGrowth(which) {
  for (const pane of document.querySelectorAll("[data-growth-pane]")) pane.hidden = pane.dataset.growthPane !== which;
  for (const button of document.querySelectorAll("[data-growth]")) {
    button.setAttribute("aria-pressed", String(button.dataset.growth === which));
  }
}
