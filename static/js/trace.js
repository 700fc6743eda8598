// The page of one trace: what is selected, where that stands in the address, and the keys.

import { isComposing } from "./enter.js";
import { tick } from "./times.js";
import { Detail, fetchText } from "./trace-detail.js";
import { LiveTrace } from "./trace-live.js";
import { fillPanels, showGrowth } from "./trace-panels.js";
import "./trace-views.js";
import { Finder } from "./tree-find.js";
import { Tree } from "./tree.js";
import { Zoom } from "./zoom.js";

const body = document.body;
const said = document.getElementById("said");
const first = new URL(location);
const detail = new Detail(body.dataset.spans);
const zoom = new Zoom(document.querySelector(".treebox"));
const tree = new Tree(document.getElementById("tree"), {
  onSelect: (span, options) => select(span, options),
  onUnfold: (span, deep) => fetchText(`${body.dataset.spans}${span}/below/${deep ? "?deep=1" : ""}`),
  onOpened: (rows) => live?.open(rows),
});
const finder = new Finder(document.getElementById("find"), document.getElementById("found"), tree, select);
const initial = detail.span;
let live = null;
let isFollowing = false;

function select(span, { push = true, focus = false, part = null } = {}) {
  const row = tree.row(span);
  const before = tree.row(tree.chosen);
  const kept = row && before?.dataset.kind === row.dataset.kind ? detail.part : "";
  const wanted = part ?? kept;
  tree.choose(span, { focus });
  if (push && row) tree.open(tree.above(row));
  markRail(row);
  if (zoom.scale > 1) zoom.look(row);
  if (push) remember(row?.dataset.turn ?? "", span, wanted);
  said.textContent = row?.dataset.said ?? "";
  live?.select(span);
  return detail.show(span, wanted);
}

function remember(turn, span, part) {
  const url = new URL(location);
  for (const [name, value] of Object.entries({ turn, span, tab: part })) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  if (url.href !== location.href) history.pushState(null, "", url);
}

// The block of the turn in which a row stands; a block may be several turns.
function markRail(row) {
  let at = row;
  while (at && !at.matches("[data-order]:not([data-window])")) at = tree.row(at.dataset.parent);
  const order = Number(at?.dataset.order ?? -1);
  for (const block of document.querySelectorAll("[data-block]")) {
    const isHere = Number(block.dataset.block) <= order && order <= Number(block.dataset.until);
    if (isHere) block.setAttribute("aria-current", "true");
    else block.removeAttribute("aria-current");
  }
}

function jump(link) {
  const query = new URL(link.getAttribute("href"), location.href).searchParams;
  const span = query.get("span") ?? "";
  if (!tree.row(span)) {
    location.assign(link.getAttribute("href"));
    return;
  }
  select(span, { part: query.get("tab") });
}

// The rows to go through with a key, beginning behind what is selected; around the end if `wraps`.
function beside(rows, step, wraps) {
  const all = tree.rows();
  const at = all.indexOf(tree.row(tree.chosen));
  const ahead = step > 0 ? rows.find((row) => all.indexOf(row) > at) : rows.findLast((row) => all.indexOf(row) < at);
  return ahead ?? (wraps ? rows.at(step > 0 ? 0 : -1) : undefined);
}

function go(row) {
  if (row) select(row.dataset.span, { focus: true });
}

// A window that is folded is opened on the way.
async function goTurn(step) {
  const stops = () => tree.rows().filter((row) => row.matches("[data-order]:not([data-window]), [data-window][data-folded]"));
  let current = tree.row(tree.chosen);
  while (current && !current.matches("[data-order]:not([data-window])")) current = tree.row(current.dataset.parent);
  let next = current ? stops()[stops().indexOf(current) + step] : beside(stops(), step, false);
  if (next?.matches("[data-window]")) {
    const id = next.dataset.span;
    await tree.unfold(next);
    next = tree.rows().filter((row) => row.dataset.parent === id).at(step > 0 ? 0 : -1);
  }
  go(next);
}

// The next row that failed, was denied or skipped; what is folded and holds one is opened on the way.
async function goError() {
  const isStop = (row) => row.matches("[data-stop], [data-folded][data-stops]");
  const chosen = tree.row(tree.chosen);
  let row = chosen?.matches("[data-folded][data-stops]") ? chosen : beside(tree.rows().filter(isStop), 1, true);
  while (row?.matches("[data-folded]")) {
    const id = row.dataset.span;
    await tree.unfold(row);
    if (tree.row(id)?.matches("[data-folded]")) return;
    row = tree.below(tree.row(id)).find(isStop);
  }
  go(row);
}

// From a call to the request that asked for it; from a request to its first call.
function goAcross() {
  const row = tree.row(tree.chosen);
  if (!row) return;
  const company = tree.rows().filter((other) => other.dataset.parent === row.dataset.parent);
  const at = company.indexOf(row);
  const isKind = (kind) => (other) => other.dataset.kind === kind;
  if (row.dataset.kind === "tool_call") go(company.slice(0, at).findLast(isKind("model")));
  else if (row.dataset.kind === "model") go(company.slice(at + 1).find(isKind("tool_call")));
}

function follow(isOn) {
  isFollowing = isOn && live !== null;
  document.querySelector("[data-follow]").setAttribute("aria-pressed", String(isFollowing));
  if (isFollowing) toNewest();
}

function toNewest() {
  const running = tree.rows().filter((row) => row.hasAttribute("data-running"));
  const newest = running.at(-1) ?? tree.rows().at(-1);
  if (newest && newest.dataset.span !== tree.chosen) select(newest.dataset.span, { push: false });
  newest?.scrollIntoView({ block: "nearest" });
}

function showView(asked) {
  const name = document.querySelector(`[data-view-pane="${CSS.escape(asked)}"]`) ? asked : "tree";
  for (const pane of document.querySelectorAll("[data-view-pane]")) pane.hidden = pane.dataset.viewPane !== name;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  fillPanels();
}

function changeView(link) {
  const url = new URL(location);
  if (link.dataset.view === "tree") url.searchParams.delete("view");
  else url.searchParams.set("view", link.dataset.view);
  history.pushState(null, "", url);
  showView(link.dataset.view);
  document.querySelector(`[data-view-pane="${link.dataset.view}"] [data-view="${link.dataset.view}"]`).focus();
}

async function openPart(tab, focus) {
  const row = tree.row(tree.chosen);
  remember(row?.dataset.turn ?? "", detail.span, tab.dataset.part);
  await detail.show(detail.span, tab.dataset.part);
  if (focus) document.getElementById(`tab-${tab.dataset.part}`)?.focus();
}

const KEYS = {
  "[": () => goTurn(-1),
  "]": () => goTurn(1),
  e: goError,
  t: goAcross,
  d: () => detail.toggleMessages(),
  f: () => follow(!isFollowing),
  "-": () => zoom.step("out", tree.row(tree.chosen)),
  "+": () => zoom.step("in", tree.row(tree.chosen)),
  "=": () => zoom.step("in", tree.row(tree.chosen)),
  0: () => zoom.step("fit", tree.row(tree.chosen)),
  "/": () => {
    showView("tree");
    finder.input.focus();
    finder.input.select();
  },
  "?": () => document.getElementById("keys").showModal(),
};

function onKey(event) {
  if (isComposing(event) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.("input, textarea, select") || document.querySelector("dialog[open]")) return;
  const tab = event.target.closest?.("[data-part]");
  if (tab && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) {
    event.preventDefault();
    moveTab(tab, event.key);
    return;
  }
  if (tree.isTyping && tree.type(event.key)) {
    event.preventDefault();
  } else if (Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  } else if (tree.type(event.key)) {
    event.preventDefault();
  }
}

function moveTab(tab, key) {
  const tabs = [...tab.parentElement.children];
  const at = tabs.indexOf(tab);
  const places = { ArrowLeft: at - 1, ArrowRight: (at + 1) % tabs.length, Home: 0, End: -1 };
  openPart(tabs.at(places[key]), true);
}

function onClick(event) {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const on = (selector) => event.target.closest(selector);
  const link = on("a[data-jump], a[data-view], a[data-part]");
  if (link) event.preventDefault();
  if (link?.matches("[data-jump]")) jump(link);
  else if (link?.matches("[data-view]")) changeView(link);
  else if (link) openPart(link, true);
  else if (on("[data-show]")) detail.showMessages(on("[data-show]").dataset.show);
  else if (on("[data-growth]")) showGrowth(on("[data-growth]").dataset.growth);
  else if (on("[data-zoom]")) zoom.step(on("[data-zoom]").dataset.zoom, tree.row(tree.chosen));
  else if (on("[data-follow]")) follow(!isFollowing);
}

addEventListener("popstate", () => {
  const query = new URL(location).searchParams;
  showView(query.get("view") ?? "tree");
  const span = query.get("span") ?? initial;
  if (!tree.row(span)) {
    location.reload();
    return;
  }
  select(span, { push: false, part: query.get("tab") ?? "" });
});
document.addEventListener("click", onClick);
document.addEventListener("keydown", onKey);

if (body.hasAttribute("data-running")) {
  live = new LiveTrace(body.dataset.trace, {
    tree,
    onChanged: (changed) => {
      finder.mark();
      markRail(tree.row(tree.chosen));
      if (changed.includes(tree.chosen)) detail.show(tree.chosen, detail.part);
      if (isFollowing) toNewest();
    },
    onEnd: () => {
      live = null;
      follow(false);
    },
  });
}
tick();
fillPanels();
if (first.searchParams.has("span")) tree.row(tree.chosen)?.scrollIntoView({ block: "nearest" });
