// The tree of spans: roving focus, folding, keys as the ARIA tree pattern asks, rows brought up to date.

import { replaceChildren } from "./fragments.js";

const TYPING_PAUSE = 600;

export class Tree {
  constructor(element, { onSelect, onUnfold, onOpened }) {
    this.element = element;
    this.onSelect = onSelect;
    this.onUnfold = onUnfold;
    this.onOpened = onOpened;
    this.folded = new Set();
    this.loading = new Map();
    this.opened = new Set(this.openStops().map((row) => row.dataset.span));
    this.chosen = element.querySelector('[aria-selected="true"]')?.dataset.span ?? "";
    this.typed = "";
    this.typedAt = 0;
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("click", (event) => this.click(event));
  }

  rows() {
    return [...this.element.querySelectorAll(".tr")];
  }

  // Rows that large traces fold, with their rows in the page.
  openStops() {
    return this.rows().filter((row) => row.matches('[data-order][aria-expanded="true"]:not([data-folded])'));
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
    for (const above of this.above(row)) this.folded.delete(above.dataset.span);
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
    const id = row.dataset.span;
    if (row.hasAttribute("data-folded")) await this.load(id, false);
    this.folded.delete(id);
    this.refold();
  }

  // Fetches what is below a row that came folded; with `deep` all of it. Asked twice it is fetched once.
  load(id, deep) {
    if (!this.loading.has(id)) {
      const done = this.fill(id, deep).finally(() => this.loading.delete(id));
      this.loading.set(id, done);
    }
    return this.loading.get(id);
  }

  async fill(id, deep) {
    this.row(id)?.setAttribute("aria-busy", "true");
    const html = await this.onUnfold(id, deep);
    // It may have been made anew meanwhile.
    const row = this.row(id);
    row?.removeAttribute("aria-busy");
    if (!row || html === null) return;
    const held = deep ? document.activeElement?.closest?.(".tr")?.dataset.span : null;
    for (const line of this.below(row)) line.remove();
    row.removeAttribute("data-folded");
    const box = document.createElement("div");
    replaceChildren(box, html);
    row.after(...box.children);
    for (const line of this.below(row)) line.setAttribute("aria-selected", String(line.dataset.span === this.chosen));
    const roving = this.element.querySelector('.tr[tabindex="0"]');
    if (!roving) this.rove(this.row(held) ?? row, Boolean(held));
    this.open([row, ...this.openStops()]);
  }

  open(rows) {
    for (const row of rows) this.opened.add(row.dataset.span);
    this.onOpened?.([...this.opened]);
  }

  // The rows above one, the nearest first.
  above(row) {
    const rows = [];
    for (let at = this.row(row.dataset.parent); at; at = this.row(at.dataset.parent)) rows.push(at);
    return rows;
  }

  // All lines below a row, sentences included.
  below(row) {
    const lines = [];
    const level = Number(row.dataset.level);
    let line = row.nextElementSibling;
    while (line && Number(line.dataset.level) > level) {
      lines.push(line);
      line = line.nextElementSibling;
    }
    return lines;
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
    const isTwist = event.target.closest(".tw") && row.hasAttribute("aria-expanded");
    if (isTwist || row.hasAttribute("data-window")) {
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
      if (row.hasAttribute("data-window")) this.toggle(row);
      else this.onSelect(row.dataset.span, { focus: true });
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
      this.unfoldBeside(row);
      return true;
    }
    return false;
  }

  // Opens a row and its siblings; many that came folded are fetched together.
  async unfoldBeside(row) {
    const beside = this.rows().filter((other) => other.dataset.parent === row.dataset.parent);
    const absent = beside.filter((other) => other.hasAttribute("data-folded"));
    const parent = row.dataset.parent;
    if (absent.length > 3 && this.row(parent)) {
      for (const other of beside) this.folded.delete(other.dataset.span);
      await this.load(parent, true);
      this.rove(this.row(row.dataset.span) ?? this.row(parent));
      this.refold();
      return;
    }
    for (const other of beside) if (other.getAttribute("aria-expanded") === "false") await this.unfold(other);
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
  // folded, opened, selected and focused stays.
  bring(lines) {
    const held = document.activeElement?.closest?.(".tr")?.id;
    const roving = this.element.querySelector('.tr[tabindex="0"]')?.dataset.span;
    const known = new Set(lines.map(([id]) => id));
    for (const line of [...this.element.children]) if (!known.has(line.id) && !this.isOpened(line)) line.remove();
    let before = null;
    for (const [id, html] of lines) {
      let line = document.getElementById(id);
      if (html !== null) {
        const box = document.createElement("div");
        replaceChildren(box, html);
        const fresh = box.firstElementChild;
        if (this.opened.has(fresh.dataset.span)) fresh.removeAttribute("data-folded");
        if (line) line.replaceWith(fresh);
        line = fresh;
      }
      if (!line) continue;
      let place = before ? before.nextElementSibling : this.element.firstElementChild;
      // What was opened here and is not known there yet keeps its place.
      while (place && !known.has(place.id)) place = place.nextElementSibling;
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

  // Whether a line stands below a row that the reader opened.
  isOpened(line) {
    let above = this.row(line.dataset.parent ?? this.row(line.dataset.of)?.dataset.parent);
    while (above && !this.opened.has(above.dataset.span)) above = this.row(above.dataset.parent);
    return Boolean(above);
  }
}

function title(row) {
  return row.querySelector("b").textContent.toLowerCase();
}
