// Enter sends, Shift+Enter makes a new line; what an input method composes is left alone.

export function isComposing(event) {
  // 229 is what input methods report while they compose; Safari says so after isComposing ended.
  return event.isComposing || event.keyCode === 229;
}

export function sendOnEnter(box, send) {
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || isComposing(event)) return;
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (!event.repeat) send();
  });
}
