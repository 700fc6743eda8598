// Follows the end of the conversation while the reader is there; else offers a button.

const NEAR = 96;
const button = document.querySelector("[data-to-end]");
let follows = true;
let isScheduled = false;
let lastTop = 0;

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - innerHeight - scrollY < NEAR;
}

export function toEnd() {
  follows = true;
  scrollTo({ top: document.documentElement.scrollHeight });
  button.hidden = true;
}

export function newOutput() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    if (follows) toEnd();
    else button.hidden = false;
  });
}

export function startFollowing() {
  addEventListener(
    "scroll",
    () => {
      // Only scrolling up leaves the end: what grows below moves nothing.
      if (isAtEnd()) follows = true;
      else if (scrollY < lastTop) follows = false;
      lastTop = scrollY;
      if (follows) button.hidden = true;
    },
    { passive: true },
  );
  button.addEventListener("click", toEnd);
  if (!location.hash) toEnd();
}
