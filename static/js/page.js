// What every page has: the choice of colours, menus that close, times in the reader's zone.

import { keep } from "./storage.js";
import { localTimes } from "./times.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const root = document.documentElement;

function nameTheme() {
  const word = `word${{ auto: "Auto", light: "Light", dark: "Dark" }[root.dataset.theme ?? "auto"]}`;
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    button.setAttribute("aria-label", button.dataset[word]);
    button.title = button.dataset[word];
  }
}

function changeTheme() {
  const next = NEXT[root.dataset.theme ?? "auto"];
  if (next === "auto") delete root.dataset.theme;
  else root.dataset.theme = next;
  keep("toolloop-theme", next === "auto" ? "" : next);
  nameTheme();
}

function closeMenus(target) {
  for (const menu of document.querySelectorAll("details.menu-box[open]")) {
    if (!menu.contains(target)) menu.open = false;
  }
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-theme-toggle]")) changeTheme();
  closeMenus(event.target);
  const dialog = event.target.closest("[data-dialog]");
  if (dialog) {
    closeMenus(document.body);
    document.getElementById(dialog.dataset.dialog).showModal();
  }
  if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.menu-box[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.preventDefault();
});

nameTheme();
localTimes(document);
