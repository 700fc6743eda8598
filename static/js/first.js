// A page without a conversation: its forms make one with the first message, each only once.

import { sendOnEnter } from "./enter.js";
import { keep, kept } from "./storage.js";

const DRAFT = "toolloop-draft-new";

// The first message is a draft until a conversation shows it.
export function forgetFirst(said) {
  if (said !== undefined && said.trim() === kept(DRAFT)?.trim()) keep(DRAFT, "");
}

export function startFirst(form) {
  const box = form.querySelector("textarea");
  let isSent = false;
  box.value ||= kept(DRAFT);
  box.addEventListener("input", () => keep(DRAFT, box.value));
  sendOnEnter(box, () => box.value.trim() && form.requestSubmit());
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("#composer, .starters")) return;
    if (isSent || (event.target === form && !box.value.trim())) event.preventDefault();
    else isSent = true;
  });
  // The page may come back as it was, with the button of the browser.
  addEventListener("pageshow", () => (isSent = false));
}
