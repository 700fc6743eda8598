// A page without a conversation: its forms make one with the first message, each only once.

import { sendOnEnter } from "./enter.js";
import { keep, kept } from "./storage.js";

const DRAFT = "toolloop-draft-new";

// The first message is a draft until a conversation shows it.
export function forgetFirst(said) {
  if (said !== undefined && said.trim() === kept(DRAFT)?.trim()) keep(DRAFT, "");
}

// Servers that were not asked yet, as the process has only begun, are looked at again.
function watchServers(tries = 10) {
  if (!tries || !document.querySelector("[data-unasked]")) return;
  setTimeout(async () => {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const name of [".intro-servers", ".composer-row .menu-box"]) {
      const [old, now] = [document.querySelector(name), fresh.querySelector(name)];
      if (old && now && !old.open) old.replaceWith(document.adoptNode(now));
    }
    watchServers(tries - 1);
  }, 700);
}

export function startFirst(form) {
  watchServers();
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
