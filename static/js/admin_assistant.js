// The page of an assistant: finding and ticking tools, the order of servers, rows that are added.

import { localTimes } from "./times.js";

const form = document.getElementById("assistant_form");

function changed() {
  form.dispatchEvent(new Event("change", { bubbles: true }));
}

function boxes() {
  return [...document.querySelectorAll("#boxes > .srv-box")];
}

function ticks(box) {
  return [...box.querySelectorAll("tbody tr:not(.gone) .t-x input")];
}

function setMode(box, mode) {
  box.dataset.mode = mode;
  box.querySelector(`[name="mode-${box.dataset.box}"][value="${mode}"]`).checked = true;
}

function count(box) {
  const all = ticks(box);
  const shown = box.querySelector("[data-count]");
  const numbers = [all.filter((tick) => tick.checked).length, all.length];
  shown.textContent = shown.textContent.replace(/\d+/g, () => numbers.shift());
}

function number() {
  boxes().forEach((box, place) => {
    box.querySelector(".ord").value = place + 1;
  });
}

function move(box, step) {
  const all = boxes();
  const other = all[all.indexOf(box) + step];
  if (!other) return;
  if (step < 0) other.before(box);
  else other.after(box);
  number();
  changed();
  box.querySelector("[data-grip]").focus();
}

function addRule() {
  const rules = document.querySelector("[data-rules]");
  const row = rules.querySelector(".patrow.new");
  const input = row.querySelector("input.vTextField");
  if (!input.value.trim()) return input.focus();
  const next = row.cloneNode(true);
  const old = Number(rules.dataset.rules);
  rules.dataset.rules = old + 1;
  row.classList.remove("new");
  input.ariaLabel = input.value;
  row.querySelector("[data-add-rule]").remove();
  for (const field of next.querySelectorAll("input")) {
    field.name = field.name.replace(`rule-${old}-`, `rule-${old + 1}-`);
    if (field.type === "text") field.value = "";
    if (field.value === "ask") field.checked = true;
  }
  row.after(next);
  changed();
}

function addPrompt(button) {
  const holder = button.closest("[data-prompts]");
  const rows = holder.querySelectorAll(".prompt");
  const last = rows[rows.length - 1];
  const row = last.cloneNode(true);
  const next = Number(last.dataset.row) + 1;
  row.dataset.row = next;
  for (const field of row.querySelectorAll("select, textarea")) {
    field.name = field.name.replace(/-\d+-/, `-${next}-`);
    if (field.tagName === "TEXTAREA") field.value = "";
  }
  last.after(row);
  row.querySelector("textarea").focus();
}

// A ready prompt fills the empty row at the end, and a new empty one comes behind it.
function insertPrompt(choice) {
  const [option] = choice.selectedOptions;
  const holder = choice.closest("[data-prompts]");
  const last = [...holder.querySelectorAll(".prompt")].pop();
  if (last.querySelector("textarea").value.trim()) addPrompt(choice);
  const row = [...holder.querySelectorAll(".prompt")].pop();
  row.querySelector("select").value = option.dataset.role;
  const text = row.querySelector("textarea");
  text.value = option.value;
  text.rows = 5;
  choice.value = "";
  addPrompt(choice);
  [...holder.querySelectorAll("textarea")].pop().rows = 2;
  text.focus();
  changed();
}

// The answer may take seconds: what is in the form when it comes counts, not what was sent.
async function ask(button) {
  button.disabled = true;
  try {
    await fetch(button.dataset.ask, { method: "POST", body: new FormData(form) });
  } finally {
    button.disabled = false;
    anew();
  }
}

// Boxes and panel, made from what is in the form now.
function anew() {
  document.getElementById("anew").dispatchEvent(new Event("anew"));
}

function find(text) {
  const wanted = text.trim().toLowerCase();
  for (const box of boxes()) {
    let hits = 0;
    for (const row of box.querySelectorAll("tbody tr")) {
      row.hidden = Boolean(wanted) && !row.textContent.toLowerCase().includes(wanted);
      hits += row.hidden ? 0 : 1;
    }
    box.hidden = Boolean(wanted) && !hits;
  }
}

function tickShown(which) {
  for (const box of boxes()) {
    const shown = ticks(box).filter((tick) => !tick.closest("tr").hidden && !box.hidden);
    if (!shown.length) continue;
    for (const tick of shown) {
      if (which === "reading") tick.checked ||= tick.closest("tr").hasAttribute("data-reading");
      else tick.checked = which === "all";
    }
    setMode(box, "these");
    count(box);
  }
  changed();
}

function onClick(event) {
  const tick = event.target.closest("[data-tick]");
  if (tick) tickShown(tick.dataset.tick);
  if (event.target.closest("[data-add-rule]")) addRule();
  if (event.target.closest("[data-anew]")) anew();
  const asked = event.target.closest("[data-ask]");
  if (asked) ask(asked);
  const add = event.target.closest("[data-add-prompt]");
  if (add) addPrompt(add);
}

function onChange(event) {
  if (event.target.matches?.("[data-insert-prompt]")) {
    if (event.target.value) insertPrompt(event.target);
    return;
  }
  const box = event.target.closest?.("[data-box]");
  if (!box) return;
  if (event.target.name === `mode-${box.dataset.box}`) {
    box.dataset.mode = event.target.value;
    if (event.target.value !== "these") {
      for (const tick of ticks(box)) tick.checked = event.target.value === "all";
    }
    count(box);
  } else if (event.target.closest(".t-x")) {
    setMode(box, "these");
    count(box);
  }
}

function onKey(event) {
  const grip = event.target.closest?.("[data-grip]");
  if (grip && ["ArrowUp", "ArrowDown"].includes(event.key)) {
    move(grip.closest(".srv-box"), event.key === "ArrowUp" ? -1 : 1);
    event.preventDefault();
  }
  if (event.key === "Enter" && event.target.closest?.(".patrow.new")) {
    addRule();
    event.preventDefault();
  }
  if (event.key === "Enter" && event.target.matches?.("[data-find]")) event.preventDefault();
}

let dragged = null;

function onDrag(event) {
  const grip = event.target.closest?.("[data-grip]");
  if (event.type === "dragstart" && grip) {
    dragged = grip.closest(".srv-box");
    dragged.classList.add("dragged");
    event.dataTransfer.effectAllowed = "move";
  }
  const over = event.target.closest?.(".srv-box");
  if (event.type === "dragover" && dragged) {
    event.preventDefault();
    if (over && over !== dragged) {
      const middle = over.getBoundingClientRect().top + over.offsetHeight / 2;
      if (event.clientY < middle) over.before(dragged);
      else over.after(dragged);
    }
  }
  if (event.type === "dragend" && dragged) {
    dragged.classList.remove("dragged");
    dragged = null;
    number();
    changed();
  }
}

// What was unfolded in the panel stays so when the panel comes anew.
const open = new Set();
document.addEventListener("toggle", (event) => {
  const details = event.target;
  if (!details.closest?.("#preview") || !details.id) return;
  if (details.open) open.add(details.id);
  else open.delete(details.id);
}, true);

document.addEventListener("htmx:afterSwap", () => {
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  localTimes(document);
});

form?.addEventListener("click", onClick);
form?.addEventListener("change", onChange);
form?.addEventListener("keydown", onKey);
form?.addEventListener("input", (event) => {
  if (event.target.matches("[data-find]")) find(event.target.value);
});
for (const name of ["dragstart", "dragover", "dragend"]) form?.addEventListener(name, onDrag);
