"use strict";
// Search and zoom for the flame graphs, each in a sandboxed frame of its own; messages only.
(() => {
  const frames = [...document.querySelectorAll("iframe[id^='flame-']")];
  const number = (frame) => frame.id.slice("flame-".length);
  const send = (message) => frames.forEach((f) => f.contentWindow.postMessage(message, "*"));
  const input = document.getElementById("flame-search");
  const percent = (share) => (100 * share).toFixed(1) + "\u202f%";

  const search = () => send({ mysqlprof: "search", term: input.value.trim() });
  if (input) {
    input.addEventListener("input", search);
    document.getElementById("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
    document.getElementById("flame-reset").addEventListener("click", () => send({ mysqlprof: "reset" }));
  }

  addEventListener("message", (event) => {
    const frame = frames.find((f) => f.contentWindow === event.source);
    if (!frame || !event.data) return;
    const data = event.data;
    frame.dataset.drawn = "";
    const within = (kind) => document.querySelector(`[data-${kind}="${number(frame)}"]`);
    if (data.mysqlprof === "hover") {
      within("hover").textContent = data.name ? `${data.name} ${data.detail}` : "";
    } else if (data.mysqlprof === "found") {
      within("found").textContent = !input.value.trim() ? ""
        : data.frames ? `${percent(data.share)} of samples match` : "no match";
    }
  });

  document.querySelectorAll("[data-widen]").forEach((button) => {
    button.addEventListener("click", () => {
      const box = document.getElementById("flame-box-" + button.dataset.widen);
      const wide = box.classList.toggle("wide");
      button.setAttribute("aria-pressed", String(wide));
    });
  });
  document.querySelectorAll("[data-full]").forEach((button) => {
    if (!document.fullscreenEnabled) return button.remove();
    button.addEventListener("click", () => {
      document.getElementById("flame-" + button.dataset.full).requestFullscreen();
    });
  });
})();
