// What the pages cannot do by themselves: times in the viewer's zone, copying, selecting all rows. Without this file all of them work.
"use strict";

(() => {
  const UTC = "adjourn-utc";
  const stored = () => { try { return localStorage.getItem(UTC) === "1"; } catch { return false; } };
  const store = (utc) => { try { localStorage.setItem(UTC, utc ? "1" : "0"); } catch { /* private windows */ } };
  const language = document.documentElement.lang;

  // The title of each time becomes the exact time in the chosen zone.
  function times(root) {
    const options = { dateStyle: "medium", timeStyle: "long", ...(stored() ? { timeZone: "UTC" } : {}) };
    const format = new Intl.DateTimeFormat(language, options);
    for (const time of root.querySelectorAll("time[datetime]")) {
      time.title = format.format(new Date(time.dateTime));
      if (time.dataset.exact !== undefined) time.textContent = time.title;
    }
  }

  function prepare(root) {
    times(root);
    for (const button of root.querySelectorAll(".copy")) button.hidden = !navigator.clipboard;
    for (const control of root.querySelectorAll("input.all, button.stop")) control.hidden = false;
  }

  document.addEventListener("click", (event) => {
    const copy = event.target.closest(".copy");
    if (copy) {
      const source = copy.dataset.copy ?? document.getElementById(copy.dataset.copyOf)?.textContent ?? "";
      navigator.clipboard.writeText(source).then(() => { copy.textContent = "✓"; });
    }
    const stop = event.target.closest(".stop");
    if (stop) {
      const row = stop.closest("tr");
      htmx.trigger(row, "htmx:abort");
      // A row that is put there anew has no trigger.
      const still = row.cloneNode(true);
      for (const name of ["hx-get", "hx-trigger"]) still.removeAttribute(name);
      still.querySelector(".stop").remove();
      row.replaceWith(still);
    }
    const all = event.target.closest("input.all");
    if (all) for (const box of all.closest("table").querySelectorAll("tbody input[type=checkbox]")) box.checked = all.checked;
  });

  const zone = document.getElementById("zone");
  if (zone) {
    const label = () => { zone.textContent = stored() ? zone.dataset.local : zone.dataset.utc; };
    zone.hidden = false;
    zone.addEventListener("click", () => { store(!stored()); label(); times(document); });
    label();
  }
  prepare(document);
  // A <details> that a person opened stays open when its part of the page is replaced.
  let open = [];
  // So does the focus on a link.
  let focused = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target } = event.detail;
    open = [...target.querySelectorAll("details[id][open]")].map((one) => one.id);
    const active = document.activeElement;
    focused = target.contains(active) ? active.getAttribute("href") : null;
  });
  // A part of the page that cannot be replaced is out of date.
  const stale = (is) => { document.getElementById("stale").hidden = !is; };
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, () => stale(true));
  document.addEventListener("htmx:afterSwap", () => stale(false));
  document.addEventListener("htmx:afterSettle", () => {
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused !== null) document.querySelector(`#main a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    focused = null;
    prepare(document);
  });
})();
