// The page of calls that wait for approvers: looks for new ones while nobody writes a reason.

const EVERY = 4000;

function isBusy() {
  return [...document.querySelectorAll(".approvals input[name=reason]")].some(
    (field) => field.value || field === document.activeElement,
  );
}

async function refresh() {
  if (document.hidden || isBusy()) return;
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!answer?.ok || answer.redirected || isBusy()) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const keys = (root) => [...root.querySelectorAll(".ask-one [name=key]")].map((field) => field.value).join();
  if (keys(page) === keys(document)) return;
  document.querySelector(".approvals").replaceWith(page.querySelector(".approvals"));
  document.querySelector("header.top nav").replaceWith(page.querySelector("header.top nav"));
}

setInterval(refresh, EVERY);
