// Ledger, context growth and the cards below the tree: fetched after the page of a large trace, and anew while a run goes on.

import { replaceChildren } from "./fragments.js";
import { fetchText } from "./trace-detail.js";

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

// Fetches what did not come with the page, or is older than the rest.
export function fillPanels() {
  const later = [...document.querySelectorAll("[data-later]")];
  if (later.some((panel) => panel.id !== "ledger" || !ledgerPane().hidden)) bringPanels();
}

export function showGrowth(which) {
  for (const pane of document.querySelectorAll("[data-growth-pane]")) pane.hidden = pane.dataset.growthPane !== which;
  for (const button of document.querySelectorAll("[data-growth]")) {
    button.setAttribute("aria-pressed", String(button.dataset.growth === which));
  }
}
