// The tree of spans: roving focus, folding, keys as the ARIA tree pattern asks, rows brought up to date.

import { replaceChildren } from "./fragments.js";

const TYPING_PAUSE = 600;

export class Tree {
  constructor(element, { onSelect, onUnfold }) {
    this.element = element;
    this.onSelect = onSelect;
    this.onUnfold = onUnfold;
    this.folded = new Set();
    this.chosen = element.querySelector('[aria-selected="true"]')?.dataset.span ?? "";
    this.typed = "";
    this.typedAt = 0;
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("click", (event) => this.click(event));
  }

  rows() {
    return [...this.element.querySelectorAll(".tr")];
  }

  visible() {
    return this.rows().filter((row) => !row.hidden);
  }

  row(id) {
    const found = document.getElementById(`row-${id}`);
    return found && this.element.contains(found) ? found : null;
  }

  // Marks a row as the selected one and makes it seen; the caller shows its details.
  choose(id, { focus = false } = {}) {
    this.chosen = id;
    for (const row of this.rows()) row.setAttribute("aria-selected", String(row.dataset.span === id));
    const row = this.row(id);
    if (!row) return;
    for (let above = this.row(row.dataset.parent); above; above = this.row(above.dataset.parent)) {
      this.folded.delete(above.dataset.span);
    }
    this.refold();
    this.rove(row, focus);
    row.scrollIntoView({ block: "nearest" });
  }

  rove(row, focus = true) {
    for (const other of this.element.querySelectorAll('.tr[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
    if (focus) row.focus({ preventScroll: false });
  }

  refold() {
    let under = null;
    for (const line of this.element.children) {
      const level = Number(line.dataset.level);
      line.hidden = under !== null && level > under;
      if (line.hidden || !line.matches(".tr")) continue;
      const isFolded = line.hasAttribute("data-folded") || this.folded.has(line.dataset.span);
      if (line.hasAttribute("aria-expanded")) line.setAttribute("aria-expanded", String(!isFolded));
      under = isFolded ? level : null;
    }
    const held = this.element.querySelector('.tr[tabindex="0"]');
    if (held?.hidden) this.rove(this.visibleAbove(held), held === document.activeElement);
  }

  visibleAbove(row) {
    let above = row;
    while (above?.hidden) above = this.row(above.dataset.parent);
    return above ?? this.visible()[0];
  }

  async unfold(row) {
    if (row.hasAttribute("data-folded")) {
      row.removeAttribute("data-folded");
      const html = await this.onUnfold(row.dataset.span);
      const box = document.createElement("div");
      replaceChildren(box, html);
      row.after(...box.children);
    }
    this.folded.delete(row.dataset.span);
    this.refold();
  }

  fold(row) {
    this.folded.add(row.dataset.span);
    this.refold();
  }

  toggle(row) {
    if (row.getAttribute("aria-expanded") === "true") this.fold(row);
    else this.unfold(row);
  }

  click(event) {
    const row = event.target.closest(".tr");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if (event.target.closest(".tw") && row.hasAttribute("aria-expanded")) {
      this.toggle(row);
      this.rove(row);
    } else {
      this.onSelect(row.dataset.span, { focus: true });
    }
  }

  key(event) {
    const row = event.target.closest(".tr");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.move(row, event.key)) {
      event.preventDefault();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onSelect(row.dataset.span, { focus: true });
    }
  }

  move(row, key) {
    const rows = this.visible();
    const at = rows.indexOf(row);
    const state = row.getAttribute("aria-expanded");
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 };
    if (key in steps) {
      const next = rows[steps[key]];
      if (next) this.rove(next);
      return true;
    }
    if (key === "ArrowRight") {
      if (state === "false") this.unfold(row);
      else if (state === "true" && rows[at + 1]) this.rove(rows[at + 1]);
      return true;
    }
    if (key === "ArrowLeft") {
      const parent = this.row(row.dataset.parent);
      if (state === "true") this.fold(row);
      else if (parent) this.rove(parent);
      return true;
    }
    if (key === "*") {
      const beside = rows.filter((other) => other.dataset.parent === row.dataset.parent);
      for (const other of beside) if (other.getAttribute("aria-expanded") === "false") this.unfold(other);
      return true;
    }
    return false;
  }

  get isTyping() {
    return performance.now() - this.typedAt < TYPING_PAUSE;
  }

  // Goes to the next row that begins with what is typed; tells whether the letter was used.
  type(letter) {
    const row = document.activeElement?.closest?.(".tr");
    if (!row || letter.length !== 1 || letter === " ") return false;
    this.typed = (this.isTyping ? this.typed : "") + letter.toLowerCase();
    this.typedAt = performance.now();
    const rows = this.visible();
    const from = rows.indexOf(row) + (this.typed.length === 1 ? 1 : 0);
    const order = [...rows.slice(from), ...rows.slice(0, from)];
    const next = order.find((other) => title(other).startsWith(this.typed));
    if (next) this.rove(next);
    return Boolean(next);
  }

  // Lines from the server: [[id, html or null when nothing changed], ...] in order. What the reader
  // folded, selected and focused stays.
  bring(lines) {
    const held = document.activeElement?.closest?.(".tr")?.id;
    const roving = this.element.querySelector('.tr[tabindex="0"]')?.dataset.span;
    let before = null;
    for (const [id, html] of lines) {
      let line = document.getElementById(id);
      if (html !== null) {
        const box = document.createElement("div");
        replaceChildren(box, html);
        const fresh = box.firstElementChild;
        if (line) line.replaceWith(fresh);
        line = fresh;
      }
      if (!line) continue;
      const place = before ? before.nextElementSibling : this.element.firstElementChild;
      if (line !== place) this.element.insertBefore(line, place);
      before = line;
    }
    for (const row of this.rows()) {
      row.setAttribute("aria-selected", String(row.dataset.span === this.chosen));
      row.tabIndex = row.dataset.span === (roving ?? this.chosen) ? 0 : -1;
    }
    if (!this.element.querySelector('.tr[tabindex="0"]') && this.rows()[0]) this.rows()[0].tabIndex = 0;
    this.refold();
    if (held && document.activeElement?.id !== held) document.getElementById(held)?.focus({ preventScroll: true });
  }
}

function title(row) {
  return row.querySelector("b").textContent.toLowerCase();
}
