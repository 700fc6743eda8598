// Times in the reader's own zone, and clocks of what is still going on.

const lang = document.documentElement.lang || "en";
const clock = new Intl.DateTimeFormat(lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const second = new Intl.DateTimeFormat(lang, { timeStyle: "medium", hourCycle: "h23" });
const dayAndSecond = new Intl.DateTimeFormat(lang, {
  month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(lang, { month: "short", day: "numeric" });
const full = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "short" });

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const isToday = at.toDateString() === new Date().toDateString();
    const style = time.dataset.style;
    const isDay = style === "near" && !isToday;
    if (style === "second") time.textContent = (isToday ? second : dayAndSecond).format(at);
    else time.textContent = style === "date" ? full.format(at) : (isDay ? day : clock).format(at);
    time.title = full.format(at);
    time.dataset.local = "";
  }
}

// The server says how long something has been going on; from there this browser's own clock counts.
const starts = new WeakMap();

export function tick() {
  for (const element of document.querySelectorAll("[data-elapsed]")) {
    let start = starts.get(element);
    if (start === undefined) {
      start = performance.now() - Number(element.dataset.elapsed);
      starts.set(element, start);
    }
    element.textContent = words((performance.now() - start) / 1000);
  }
}

const [SECONDS, MINUTES] = lang.startsWith("zh") ? ["秒", "分"] : ["s", "min"];

function words(seconds) {
  if (seconds < 60) return `${seconds.toFixed(1)} ${SECONDS}`;
  return `${Math.floor(seconds / 60)} ${MINUTES} ${Math.floor(seconds % 60)} ${SECONDS}`;
}
