// The right side of the inspector: details of the selected span, fetched as the page's own pieces.

import { applyFragment } from "./fragments.js";

export class Detail {
  constructor(base) {
    this.base = base;
    this.asked = 0;
    this.part = new URL(location).searchParams.get("tab") ?? "";
  }

  get element() {
    return document.getElementById("detail");
  }

  get span() {
    return this.element.dataset.span;
  }

  // Shows a span; an answer that comes after the next question is dropped.
  async show(span, part = "") {
    this.part = part;
    this.asked += 1;
    const mine = this.asked;
    this.element.setAttribute("aria-busy", "true");
    const query = part ? `?tab=${encodeURIComponent(part)}` : "";
    const html = await fetchText(`${this.base}${encodeURIComponent(span)}/${query}`);
    if (mine !== this.asked) return;
    if (html === null) this.element.removeAttribute("aria-busy");
    else applyFragment({ id: "detail", html });
  }

  showMessages(which) {
    for (const pane of this.element.querySelectorAll("[data-shown]")) pane.hidden = pane.dataset.shown !== which;
    for (const button of this.element.querySelectorAll("[data-show][aria-pressed]")) {
      button.setAttribute("aria-pressed", String(button.dataset.show === which));
    }
  }

  toggleMessages() {
    const pressed = this.element.querySelector('[data-show][aria-pressed="true"]');
    if (pressed) this.showMessages(pressed.dataset.show === "diff" ? "all" : "diff");
  }
}

// The text of one of our own addresses, or null where it cannot be had; a lost session leads to the login.
export async function fetchText(address) {
  try {
    const response = await fetch(address, { headers: { "X-Requested-With": "fetch" } });
    if (response.redirected && new URL(response.url).pathname.startsWith("/login")) location.reload();
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}
