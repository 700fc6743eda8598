// The page of a conversation: what the socket brings, and what the reader does.

import { Composer } from "./composer.js";
import { isComposing } from "./enter.js";
import { forgetFirst, startFirst } from "./first.js";
import { newOutput, startFollowing, toEnd } from "./follow.js";
import { applyFragment, replaceChildren } from "./fragments.js";
import { startSide } from "./side.js";
import { Socket } from "./socket.js";
import { stretchRail } from "./rail.js";
import { tick } from "./times.js";

const body = document.body;
const conversation = body.dataset.conversation;
const log = document.getElementById("log");
let seq = Number(body.dataset.seq ?? 0);
let isSyncing = false;
let socket = null;
let composer = null;
// A run that was to be stopped while there was no connection.
let runToStop = null;

function hello() {
  isSyncing = socket.send({ type: "hello", seq });
}

function receive(message) {
  switch (message.type) {
    case "sync":
      replaceChildren(log, message.html);
      for (const item of message.items ?? []) applyFragment(item);
      current(message.seq);
      break;
    case "current":
      current(message.seq);
      break;
    case "fragments":
      if (!isNext(message.seq)) return;
      for (const item of message.items) applyFragment(item);
      break;
    case "delta":
      if (!isNext(message.seq)) return;
      write(message);
      break;
    case "accepted":
      composer.accepted(message.token);
      return;
    case "edit":
      composer.takeBack(message.text);
      return;
    case "error":
      composer.refused(message.message, message.token);
      return;
    default:
      return;
  }
  showState();
  newOutput();
}

function current(number) {
  seq = number;
  isSyncing = false;
  if (runToStop !== null && runToStop === runningRun()) stop();
  runToStop = null;
}

// Every message is one more than the last; a gap means that something was missed.
function isNext(number) {
  if (isSyncing || number <= seq) return false;
  if (number > seq + 1) {
    hello();
    return false;
  }
  seq = number;
  return true;
}

// Lengths count code points, as the server does; a string here counts UTF-16 units.
function write({ run, at, text }) {
  const element = document.getElementById(`live-text-${run}`);
  const held = Number(element?.dataset.length ?? -1);
  if (!element || at > held) {
    hello();
    return;
  }
  if (at < held) element.textContent = [...element.textContent].slice(0, at).join("");
  if (!element.lang && /[\u3400-\u9fff]/.test(text)) element.lang = "zh";
  element.append(text);
  element.dataset.length = String(at + [...text].length);
}

function isBusy() {
  return !document.getElementById("status").hidden;
}

function showState() {
  composer.setBusy(isBusy());
  const title = document.getElementById("talk-title").textContent;
  if (title) document.title = `${title} · Toolloop`;
}

function runningRun() {
  return document.querySelector("#log .msg.run.live:last-of-type")?.dataset.run;
}

function stop() {
  const button = document.querySelector("[data-stop]");
  if (!isBusy() || !button || button.disabled) return;
  if (!socket.send({ type: "stop" })) runToStop = runningRun();
  else button.disabled = true;
}

function decide(form, allow) {
  const message = { type: "decide", key: form.dataset.decide, allow, reason: form.elements.reason.value };
  if (!socket.send(message)) return;
  for (const control of form.elements) control.disabled = true;
}

function unqueue(row, edit = false) {
  socket.send({ type: "unqueue", run: row.dataset.run, edit });
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent);
  const label = button.querySelector("span");
  const word = label.textContent;
  label.textContent = button.dataset.done;
  setTimeout(() => (label.textContent = word), 1500);
}

function onClick(event) {
  const on = (selector) => event.target.closest(selector);
  const queued = on(".queue");
  if (on("[data-stop]")) stop();
  else if (on("[data-stop-call]")) socket.send({ type: "stop_call", key: on("[data-stop-call]").dataset.stopCall });
  else if (on("[data-allow]")) decide(on("form"), true);
  else if (on("[data-copy]")) copy(on("[data-copy]"));
  else if (on("[data-unqueue]")) unqueue(queued);
  else if (on("[data-edit-queued]")) unqueue(queued, true);
  else if (on("[data-starter]")) {
    event.preventDefault();
    composer.send(on("[data-starter]").value);
  }
}

function onKey(event) {
  if (isComposing(event) || event.defaultPrevented) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches?.("input, textarea");
  if (event.key === "Escape") escape(event.target);
  const ask = event.target.closest?.("[data-ask]");
  // Where others decide there is no form.
  if (!ask?.querySelector("form") || isTyping) return;
  if (event.key.toLowerCase() === "a") decide(ask.querySelector("form"), true);
  if (event.key.toLowerCase() === "d") {
    ask.querySelector("input").focus();
    event.preventDefault();
  }
}

// Stops the run, but not from a field that has its own use of the key.
function escape(target) {
  if (document.querySelector("dialog[open]")) return;
  if (target.matches("input")) target.blur();
  else stop();
}

function start() {
  socket = new Socket(`/ws/c/${conversation}/`, {
    onMessage: receive,
    onOpen: () => {
      hello();
      composer.opened();
    },
    onState: (isOpen) => {
      document.getElementById("link-state").hidden = isOpen;
      if (!isOpen) composer?.lost();
    },
  });
  composer = new Composer(document.getElementById("composer"), { conversation, socket, onSent: toEnd });
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-decide]")) return;
    event.preventDefault();
    decide(event.target, false);
  });
  setInterval(tick, 100);
  setInterval(stretchRail, 500);
  // Runs of other people end without a word to this conversation: its place is asked for.
  setInterval(() => document.querySelector("[data-place]") && socket.send({ type: "place" }), 2000);
  startFollowing();
  showState();
  // It may wait in the queue still.
  forgetFirst(document.querySelector("#log .msg.user .bub, #queue [data-text]")?.textContent);
}

startSide();
const form = document.getElementById("composer");
if (conversation) start();
else if (form) startFirst(form);
