// Puts pieces of HTML from our own server into the page without losing what the reader had open.

import { localTimes, tick } from "./times.js";

// What a person folded or unfolded by hand; the server's wish holds for everything else.
const touched = new Map();

document.addEventListener("click", (event) => {
  const summary = event.target.closest("summary");
  const details = summary?.parentElement;
  if (details?.id) touched.set(details.id, !details.open);
  const tab = event.target.closest("[data-tab]");
  if (tab) selectTab(tab.closest("details"), tab.dataset.tab);
});

document.addEventListener("keydown", (event) => {
  const tab = event.target.closest?.("[data-tab]");
  if (!tab || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  const tabs = [...tab.parentElement.children];
  const step = event.key === "ArrowRight" ? 1 : tabs.length - 1;
  const next = tabs[(tabs.indexOf(tab) + step) % tabs.length];
  selectTab(next.closest("details"), next.dataset.tab);
  next.focus();
  event.preventDefault();
});

function selectTab(card, name) {
  for (const tab of card.querySelectorAll("[data-tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.tab === name));
    tab.tabIndex = tab.dataset.tab === name ? 0 : -1;
  }
  for (const panel of card.querySelectorAll("[data-panel]")) {
    panel.toggleAttribute("data-off", panel.dataset.panel !== name);
  }
}

export function applyFragment({ id, html, parent, mode }) {
  const old = document.getElementById(id);
  if (mode === "remove") {
    old?.remove();
    return;
  }
  const fresh = parse(html);
  if (!fresh) return;
  const place = old ? null : document.getElementById(parent);
  if (!old && !place) return;
  const state = remember(old);
  if (old) old.replaceWith(fresh);
  else place.append(fresh);
  restore(fresh, state);
}

export function replaceChildren(element, html) {
  const state = remember(element);
  const template = document.createElement("template");
  template.innerHTML = html;
  element.replaceChildren(template.content);
  restore(element, state);
}

function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.firstElementChild;
}

function remember(old) {
  const state = { open: new Set(), tabs: new Map(), values: new Map(), focus: null };
  if (!old) return state;
  for (const details of withSelf(old, "details[id][open]")) state.open.add(details.id);
  for (const tab of old.querySelectorAll('[data-tab][aria-selected="true"]')) {
    const card = tab.closest("details");
    if (card?.id) state.tabs.set(card.id, tab.dataset.tab);
  }
  for (const field of old.querySelectorAll("input[id]")) state.values.set(field.id, field.value);
  if (old.contains(document.activeElement)) state.focus = focusPath(document.activeElement);
  return state;
}

function restore(fresh, state) {
  for (const details of withSelf(fresh, "details[id]")) {
    if (touched.has(details.id)) details.open = touched.get(details.id);
    else if (state.open.has(details.id)) details.open = true;
  }
  for (const [id, tab] of state.tabs) {
    const card = document.getElementById(id);
    const isFresh = card?.querySelector('[data-tab="result"]') && tab === "arguments" && !touched.has(id);
    if (card?.querySelector(`[data-tab="${tab}"]`) && !isFresh) selectTab(card, tab);
  }
  for (const [id, value] of state.values) {
    const field = document.getElementById(id);
    if (field && value) field.value = value;
  }
  if (state.focus) {
    const holder = document.getElementById(state.focus.id);
    const target = state.focus.selector ? holder?.querySelector(state.focus.selector) : holder;
    target?.focus({ preventScroll: true });
  }
  localTimes(fresh);
  tick();
}

// Where the focus is, in words that hold after the element was made anew.
function focusPath(element) {
  if (element.id) return { id: element.id, selector: "" };
  const holder = element.closest("[id]");
  if (element.dataset.tab) return { id: holder.id, selector: `[data-tab="${element.dataset.tab}"]` };
  return { id: holder.id, selector: element.localName };
}

function withSelf(element, selector) {
  const found = [...element.querySelectorAll(selector)];
  return element.matches(selector) ? [element, ...found] : found;
}
