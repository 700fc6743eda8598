// A trace that goes on: pieces of the page come over the socket; nothing that is read moves.

import { applyFragment } from "./fragments.js";
import { Socket } from "./socket.js";
import { tick } from "./times.js";
import { bringPanels } from "./trace-panels.js";

const PANELS_EVERY = 2000;

export class LiveTrace {
  constructor(trace, { tree, onChanged, onEnd }) {
    this.tree = tree;
    this.onChanged = onChanged;
    this.onEnd = onEnd;
    this.panelsAt = performance.now();
    this.panelsTimer = null;
    this.state = document.getElementById("live-state");
    this.socket = new Socket(`/ws/traces/${trace}/`, {
      onMessage: (message) => this.receive(message),
      onOpen: () => {
        this.select(tree.chosen);
        this.open([...tree.opened]);
      },
      onState: (isOpen) => this.show(isOpen),
    });
    this.clock = setInterval(tick, 100);
  }

  // What is selected is never left out of a large tree.
  select(span) {
    this.socket.send({ type: "select", span });
  }

  // Neither are the rows below those that the reader opened.
  open(rows) {
    this.socket.send({ type: "open", spans: rows });
  }

  show(isOpen) {
    const { live, lost } = this.state.dataset;
    this.state.className = isOpen ? "st s-run" : "st s-wait";
    this.state.querySelector("span").textContent = isOpen ? live : lost;
  }

  receive(message) {
    if (message.type !== "trace") return;
    keepPlace(() => {
      for (const piece of message.pieces) applyFragment(piece);
      this.tree.bring(message.lines);
    });
    document.querySelector(".tree-none").hidden = this.tree.rows().length > 0;
    this.onChanged(message.changed);
    if (message.changed.length || !message.running) this.panelsSoon(!message.running);
    if (message.running) return;
    this.socket.stop();
    clearInterval(this.clock);
    document.getElementById("live-line").hidden = true;
    delete document.body.dataset.running;
    this.onEnd();
  }

  panelsSoon(now) {
    if (now) clearTimeout(this.panelsTimer);
    else if (this.panelsTimer !== null) return;
    const wait = now ? 0 : Math.max(PANELS_EVERY - (performance.now() - this.panelsAt), 0);
    this.panelsTimer = setTimeout(() => this.panels(), wait);
  }

  async panels() {
    this.panelsTimer = null;
    this.panelsAt = performance.now();
    await bringPanels();
  }
}

// What stands at the top of the window stays there, whatever grows above it.
function keepPlace(change) {
  const bar = document.querySelector(".top").getBoundingClientRect().bottom;
  const places = document.querySelectorAll("#verdict, #rail, #tree .tr, #detail, #growth, #under");
  const isSeen = (element) => !element.hidden && element.getBoundingClientRect().bottom > bar;
  const id = scrollY > 0 ? [...places].find(isSeen)?.id : undefined;
  const top = () => document.getElementById(id)?.getBoundingClientRect().top ?? 0;
  const before = top();
  change();
  const moved = top() - before;
  if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: "instant" });
}
