// Search in the rows of the tree: what matches is marked, the rest steps back; Enter goes on.

export class Finder {
  constructor(input, said, tree, onSelect) {
    this.input = input;
    this.said = said;
    this.tree = tree;
    this.onSelect = onSelect;
    this.at = -1;
    input.addEventListener("input", () => this.mark());
    input.addEventListener("keydown", (event) => this.key(event));
  }

  matches() {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    return this.tree.rows().filter((row) => {
      const sentence = document.getElementById(row.getAttribute("aria-describedby") ?? "");
      const text = `${row.textContent} ${sentence?.textContent ?? ""}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  mark() {
    const found = this.matches();
    this.at = -1;
    this.tree.element.toggleAttribute("data-finding", found !== null);
    for (const row of this.tree.rows()) row.classList.toggle("found", found?.includes(row) ?? false);
    this.say(found === null ? "" : found.length ? String(found.length) : this.said.dataset.none);
  }

  // Rows that are folded and were not fetched are not searched, which is said.
  say(text) {
    const isPart = this.tree.element.querySelector("[data-folded]") !== null;
    this.said.textContent = text && isPart ? `${text} · ${this.said.dataset.part}` : text;
  }

  key(event) {
    if (event.key === "Escape") {
      this.input.value = "";
      this.mark();
      this.input.blur();
      event.preventDefault();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    const found = this.matches() ?? [];
    if (!found.length) return;
    this.at = (this.at + (event.shiftKey ? found.length - 1 : 1)) % found.length;
    this.say(`${this.at + 1} / ${found.length}`);
    this.onSelect(found[this.at].dataset.span, { focus: false });
  }
}
