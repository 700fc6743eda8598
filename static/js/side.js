// The list of conversations: search as one types; and which pane a phone shows.

const WAIT = 200;
let timer = null;
let latest = 0;
const places = {};

async function search(form) {
  const number = ++latest;
  const url = new URL(form.dataset.search, location.href);
  url.searchParams.set("q", form.elements.q.value);
  url.searchParams.set("current", document.body.dataset.conversation ?? "");
  const answer = await fetch(url, { headers: { Accept: "text/html" } });
  if (answer.redirected) location.reload();
  if (!answer.ok || answer.redirected || number !== latest) return;
  const template = document.createElement("template");
  template.innerHTML = await answer.text();
  document.getElementById("conversations").replaceWith(template.content);
  const { localTimes } = await import("./times.js");
  localTimes(document);
}

export function startSide() {
  const form = document.querySelector("[data-search]");
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(form), WAIT);
  });
  // What was typed before this script ran.
  if (form.elements.q.value !== form.elements.q.defaultValue) search(form);
  document.addEventListener("click", (event) => {
    const pane = event.target.closest("[data-pane]");
    if (pane) showPane(pane);
    const fold = event.target.closest("[data-fold]");
    if (fold) toggleFold(fold.dataset.fold);
  });
}

// Each pane keeps its own place; one that is opened first begins at its top.
function showPane(button) {
  const { body } = document;
  places[body.dataset.show ?? "talk"] = scrollY;
  body.dataset.show = button.dataset.pane;
  scrollTo({ top: places[button.dataset.pane] ?? 0 });
  for (const other of button.parentElement.querySelectorAll("[data-pane]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
}

function toggleFold(id) {
  const box = document.getElementById(id);
  const isOpen = box.dataset.open !== "true";
  box.dataset.open = String(isOpen);
  for (const button of document.querySelectorAll(`[data-fold="${id}"]`)) {
    button.setAttribute("aria-expanded", String(isOpen));
  }
}
