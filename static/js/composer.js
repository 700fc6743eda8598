// The box to write in: sends, queues, keeps a draft, recalls the last message.

import { isComposing, sendOnEnter } from "./enter.js";
import { keep, kept } from "./storage.js";

export class Composer {
  constructor(form, { conversation, socket, onSent }) {
    this.form = form;
    this.box = form.querySelector("textarea");
    this.button = form.querySelector('[type="submit"]');
    this.fault = form.querySelector("#composer-fault");
    this.socket = socket;
    this.onSent = onSent;
    this.draftKey = `toolloop-draft-${conversation}`;
    this.token = null;
    // A message that was sent while the socket was opening.
    this.early = null;
    this.box.value ||= kept(this.draftKey);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(this.box.value);
    });
    this.box.addEventListener("input", () => keep(this.draftKey, this.box.value));
    this.box.addEventListener("keydown", (event) => this.onKey(event));
    sendOnEnter(this.box, () => this.send(this.box.value));
  }

  onKey(event) {
    if (event.key === "ArrowUp" && !this.box.value && !isComposing(event)) this.recall(event);
  }

  recall(event) {
    const said = document.querySelectorAll("#log .msg.user .bub");
    const last = said[said.length - 1]?.textContent;
    if (!last) return;
    event.preventDefault();
    this.write(last);
  }

  write(text) {
    this.box.value = text;
    keep(this.draftKey, text);
    this.box.focus();
    this.box.setSelectionRange(text.length, text.length);
  }

  // A queued message comes back; what is being written stays below it.
  takeBack(text) {
    const draft = this.box.value.trim();
    this.write(draft ? `${text}\n\n${draft}` : text);
  }

  send(text) {
    if (!text.trim() || this.token || this.early) return;
    this.say("");
    if (this.socket.isOpening) {
      this.early = text;
      this.button.disabled = true;
      return;
    }
    const token = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    if (!this.socket.send({ type: "send", text, token })) {
      this.say(this.fault.dataset.offline);
      return;
    }
    this.token = token;
    this.sent = text;
    this.button.disabled = true;
  }

  opened() {
    const text = this.early;
    if (text === null) return;
    this.release();
    this.send(text);
  }

  accepted(token) {
    if (token !== this.token) return;
    if (this.box.value === this.sent) this.write("");
    this.release();
    this.onSent();
  }

  // A refusal without our token is of something else that was asked for.
  refused(message, token) {
    if (token === this.token) this.release();
    this.say(message);
  }

  lost() {
    if (this.token) this.refused(this.fault.dataset.lost, this.token);
    else if (this.early) this.refused(this.fault.dataset.offline, null);
  }

  release() {
    this.token = null;
    this.early = null;
    this.button.disabled = false;
  }

  say(text) {
    this.fault.textContent = text;
    this.fault.hidden = !text;
  }

  setBusy(isBusy) {
    const name = isBusy ? "busy" : "idle";
    this.box.placeholder = this.box.dataset[name];
    const hint = this.form.querySelector("[data-hint]");
    hint.textContent = hint.dataset[name];
  }
}
