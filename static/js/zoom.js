// The time axis of the tree: zoomed around what is selected. All lanes follow two custom properties.

const LARGEST = 64;

export class Zoom {
  constructor(box) {
    this.box = box;
    this.scale = 1;
  }

  step(direction, row) {
    if (direction === "fit") this.scale = 1;
    else this.scale = Math.min(Math.max(this.scale * (direction === "in" ? 2 : 0.5), 1), LARGEST);
    this.look(row);
  }

  // Puts the middle of a row's bar into the middle of the lane.
  look(row) {
    const bar = row?.querySelector(".lane rect");
    const share = (name) => parseFloat(bar?.getAttribute(name) ?? 0) / 100;
    const middle = bar ? share("x") + share("width") / 2 : 0.5;
    const pan = Math.min(Math.max(middle * this.scale - 0.5, 0), this.scale - 1);
    this.box.style.setProperty("--zoom", String(this.scale));
    this.box.style.setProperty("--pan", String(pan));
    this.box.dataset.zoom = String(this.scale);
  }
}
