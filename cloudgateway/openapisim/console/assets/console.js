// Keeps the page up to date: it puts the parts that the server sends in place, and asks for others when a filter changes.
"use strict";
(() => {
  const form = document.getElementById("query");
  const live = document.getElementById("live");
  const pause = document.getElementById("pause");
  const retype = 250; // ms until a filter that is typed counts
  let source, timer;

  function tell(kind, text) {
    live.className = kind;
    live.textContent = text;
  }

  function connect() {
    source?.close();
    if (pause.getAttribute("aria-pressed") === "true") return tell("off", "paused");
    if (document.hidden) return;
    source = new EventSource("/console/stream" + location.search);
    source.onopen = () => tell("good", "live");
    source.onerror = () => tell("bad", source.readyState === EventSource.CLOSED ? "not live, reload the page" : "reconnecting");
    source.addEventListener("part", (event) => replace(JSON.parse(event.data)));
  }

  // The HTML is the server's own, with everything escaped that others chose. What is new is marked, and the focus stays.
  function replace({ id, html }) {
    const part = document.getElementById(id);
    const before = new Set(Array.from(part.querySelectorAll("[data-key]"), (e) => e.dataset.key));
    const focused = part.contains(document.activeElement) && document.activeElement.getAttribute("href"); // links only can be
    part.innerHTML = html;
    if (part.dataset.query === location.search) {
      for (const e of part.querySelectorAll("[data-key]")) e.classList.toggle("new", !before.has(e.dataset.key));
    }
    part.dataset.query = location.search;
    if (focused) Array.from(part.querySelectorAll("a")).find((a) => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }

  function filter() {
    clearTimeout(timer);
    const wanted = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value) wanted.set(name, value);
    history.replaceState(null, "", "/console" + (wanted.size ? "?" + wanted : ""));
    connect();
  }

  document.addEventListener("input", (event) => {
    if (event.target.form !== form) return;
    clearTimeout(timer);
    timer = setTimeout(filter, retype);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    filter();
  });
  pause.addEventListener("click", () => {
    pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
    connect();
  });
  document.addEventListener("visibilitychange", connect);
  addEventListener("pageshow", (event) => event.persisted && connect());
  pause.hidden = false;
  connect();
})();
