// Keeps the page up to date: the service says that something has changed, and the page is fetched and put in place.
"use strict";

const AGAIN = 30_000; // milliseconds after which a refused stream is tried again
const pace = () => document.getElementById("pace");
const source = document.currentScript.dataset.live;
let asking = false;
let stale = false;

function keyOf(element) {
  if (!element || element === document.body) return null;
  return element.id ? `#${CSS.escape(element.id)}` : element.matches("summary") ? `#${CSS.escape(element.parentElement.id)} summary` : element.matches("a[href]") ? `a[href="${CSS.escape(element.getAttribute("href"))}"]` : null;
}

function put(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const focus = keyOf(document.activeElement);
  const main = document.querySelector("main");
  const inside = main.contains(document.activeElement);
  const open = [...main.querySelectorAll("details[open]")].map((details) => details.id);
  main.replaceChildren(...fresh.querySelector("main").childNodes);
  document.querySelector("footer time").replaceWith(fresh.querySelector("footer time"));
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (inside && focus) (document.querySelector(focus) ?? main).focus({ preventScroll: true });
}

async function renew() {
  if (document.hidden || asking || getSelection().type === "Range") {
    stale = true;
    return;
  }
  asking = true;
  stale = false;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) location.replace(answer.url);
    else if (answer.ok) put(await answer.text());
    pace().textContent = answer.ok ? "Live." : "Not live at present. Reload for newer.";
  } catch {
    pace().textContent = "The service gives no answer. This is what it said last.";
  } finally {
    asking = false;
  }
}

function follow() {
  const stream = new EventSource(source);
  stream.addEventListener("open", () => (pace().textContent = "Live."));
  stream.addEventListener("changed", renew);
  stream.addEventListener("error", () => {
    pace().textContent = "Not live at present. Reload for newer.";
    if (stream.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN);
  });
  addEventListener("pagehide", () => stream.close(), { once: true });
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && stale) renew();
});
addEventListener("pageshow", (event) => event.persisted && follow());
follow();
