// One web socket per page, made anew when it breaks: after half a second, then later and later.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
const PING_EVERY = 25_000;
const SILENCE = 60_000;
const GONE = [4401, 4404];

export class Socket {
  constructor(path, { onMessage, onOpen, onState }) {
    this.url = new URL(path, location.href);
    this.url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    this.onMessage = onMessage;
    this.onOpen = onOpen;
    this.onState = onState;
    this.wait = FIRST_WAIT;
    this.timer = null;
    this.heard = 0;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    setInterval(() => this.check(), PING_EVERY);
    this.open();
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  get isOpening() {
    return this.socket?.readyState === WebSocket.CONNECTING;
  }

  send(message) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  open() {
    clearTimeout(this.timer);
    this.timer = null;
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.heard = performance.now();
      this.onState(true);
      this.onOpen();
    });
    socket.addEventListener("message", (event) => {
      this.heard = performance.now();
      this.onMessage(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => this.closed(socket, event.code));
  }

  closed(socket, code) {
    if (socket !== this.socket || this.isStopped) return;
    this.onState(false);
    if (GONE.includes(code)) {
      location.reload();
      return;
    }
    this.timer = setTimeout(() => this.open(), this.wait * (0.8 + 0.4 * Math.random()));
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  // For good: there is nothing more to come.
  stop() {
    this.isStopped = true;
    this.socket.close();
  }

  hurry() {
    if (this.timer !== null) this.open();
  }

  check() {
    if (!this.isOpen) return;
    if (performance.now() - this.heard > SILENCE) this.socket.close();
    else this.send({ type: "ping" });
  }
}
