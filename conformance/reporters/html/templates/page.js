"use strict";
(() => {
  // The page is readable without this: it filters, keeps the filters in the address, and copies.
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const filters = byId("filters");
  const items = all(".item").map((element) => ({
    element,
    server: element.closest(".server")?.id ?? "",
    areas: (element.closest("[data-area]")?.dataset.area ?? "").split(" "),
    on: (element.dataset.on || "").split(" ").filter(Boolean).map((token) => token.split("@")),
    text: null,
  }));
  const results = items.filter((item) => item.element.tagName !== "TR").length;

  function textOf(item) {
    if (item.text === null) item.text = item.element.textContent.toLowerCase();
    return item.text;
  }

  // -- what is chosen

  const query = byId("query");
  const server = byId("server");
  const area = byId("area");
  const run = byId("run");
  const kinds = filters ? all("input[name=kind]", filters) : [];

  const chosen = () => ({
    words: query.value.toLowerCase().split(/\s+/).filter(Boolean),
    server: server ? server.value : "",
    area: area.value,
    run: run ? run.value : "",
    kinds: new Set(kinds.filter((box) => box.checked).map((box) => box.value)),
  });

  function matches(item, wanted) {
    if (wanted.server && item.server !== wanted.server) return false;
    if (wanted.area && !item.areas.includes(wanted.area)) return false;
    const seen = (pair) => (!wanted.kinds.size || wanted.kinds.has(pair[0])) && (!wanted.run || wanted.run === pair[1]);
    if ((wanted.kinds.size || wanted.run) && !item.on.some(seen)) return false;
    return wanted.words.every((word) => textOf(item).includes(word));
  }

  function apply() {
    const wanted = chosen();
    const active = wanted.words.length > 0 || wanted.kinds.size > 0 || Boolean(wanted.server || wanted.area || wanted.run);
    let shown = 0;
    let rules = 0;
    for (const item of items) {
      const fits = !active || matches(item, wanted);
      item.element.hidden = !fits;
      if (fits && item.element.tagName === "TR") rules += 1;
      else if (fits) shown += 1;
    }
    for (const group of all(".group, #rules, #rules tbody, .server")) {
      const inside = all(".item", group);
      group.hidden = active && !inside.some((element) => !element.hidden);
    }
    for (const box of all(".group, #rules")) {
      const fold = box.querySelector(":scope > details");
      const folded = box.querySelectorAll(".item:not([hidden])").length;
      if (fold && active && !box.hidden && folded === (shown || rules)) fold.open = true;
    }
    for (const cell of all(".areas a")) {
      const here = !server || wanted.server === cell.closest(".server").id;
      const on = here && wanted.area === cell.dataset.area && wanted.run === (run ? cell.dataset.run : "");
      cell.classList.toggle("chosen", active && on);
    }
    byId("shown").value = active ? `${shown} of ${results} results and ${rules} requirements match` : "";
    byId("nothing").hidden = !active || shown + rules > 0;
    byId("clear").disabled = !active;
  }

  // -- the address: #id&show=violation,warning&server=one&area=tools&run=2025-11-25+stdio&q=words

  let target = "";

  function write() {
    const state = new URLSearchParams();
    const show = kinds.filter((box) => box.checked).map((box) => box.value).join(",");
    if (show) state.set("show", show);
    if (server && server.value) state.set("server", server.selectedOptions[0].textContent);
    if (area.value) state.set("area", area.value);
    if (run && run.value) state.set("run", run.selectedOptions[0].textContent);
    if (query.value) state.set("q", query.value);
    const words = state.toString().replaceAll("%2C", ",").replaceAll("%2F", "/");
    const fragment = [target, words].filter(Boolean).join("&");
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  }

  function pick(select, text) {
    if (!select) return;
    const option = [...select.options].find((each) => each.textContent === text);
    select.value = option && text ? option.value : "";
  }

  function read() {
    let fragment = location.hash.slice(1);
    const end = fragment.indexOf("&");
    const first = end < 0 ? fragment : fragment.slice(0, end);
    target = "";
    if (!first.includes("=")) {
      target = first;
      fragment = end < 0 ? "" : fragment.slice(end + 1);
    }
    if (filters && (fragment || !target)) {
      const state = new URLSearchParams(fragment);
      const show = (state.get("show") || "").split(",");
      for (const box of kinds) box.checked = show.includes(box.value);
      pick(server, state.get("server") || "");
      pick(area, state.get("area") || "");
      pick(run, state.get("run") || "");
      query.value = state.get("q") || "";
    }
    if (filters) apply();
    show(target);
    if (filters) write();
  }

  function show(id) {
    let name = id;
    try {
      name = decodeURIComponent(id);
    } catch {
      // It is taken as it is written.
    }
    const element = name && byId(name);
    if (!element) return;
    if (element.hidden && filters) clear(false);
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    const inner = element.querySelector(":scope > details");
    if (inner) inner.open = true;
    element.scrollIntoView();
  }

  function clear(forget = true) {
    for (const box of kinds) box.checked = false;
    query.value = area.value = "";
    if (run) run.value = "";
    if (server) server.value = "";
    if (forget) target = "";
    apply();
    write();
  }

  // -- folding

  const folds = all(".finding");

  function toggleAll() {
    const unfold = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = unfold;
    told();
  }

  function told() {
    if (byId("unfold")) byId("unfold").textContent = folds.some((fold) => !fold.open) ? "Unfold all" : "Fold all";
  }

  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = all(".finding, .server").filter((fold) => !fold.open);
    for (const fold of unfolded) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of unfolded) fold.open = false;
  });

  // -- copying

  function addButtons(within) {
    for (const text of all(".copyable", within)) {
      const head = text.previousElementSibling;
      if (text.closest("details") !== within || head.querySelector(".copy")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.setAttribute("aria-label", `Copy: ${text.getAttribute("aria-label")}`);
      button.addEventListener("click", () => copy(button, text));
      head.append(button);
    }
  }

  function showMarks(within) {
    for (const mark of all("pre mark", within)) {
      const text = mark.parentElement;
      const below = mark.getBoundingClientRect().bottom - text.getBoundingClientRect().bottom;
      if (below > 0) text.scrollTop += below + text.clientHeight / 2;
    }
  }

  async function copy(button, text) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text.textContent);
      done = true;
    } catch {
      const selection = getSelection();
      selection.selectAllChildren(text);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  document.addEventListener(
    "toggle",
    (event) => {
      if (event.target.open && event.target.matches(".finding, .frames")) addButtons(event.target);
      if (event.target.open && event.target.matches(".frames")) showMarks(event.target);
      if (filters && event.target.matches(".finding")) told();
    },
    true,
  );
  for (const fold of all(".finding[open], .frames[open]")) addButtons(fold);

  // -- events

  if (filters) {
    filters.hidden = false;
    const changed = () => {
      target = "";
      apply();
      write();
    };
    let waiting = 0;
    query.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(changed, 80);
    });
    for (const control of [server, area, run, ...kinds]) control?.addEventListener("change", changed);
    byId("clear").addEventListener("click", () => clear());
    byId("clear-too").addEventListener("click", () => clear());
    byId("unfold")?.addEventListener("click", toggleAll);
    told();
    document.addEventListener("keydown", (event) => {
      const typing = event.target.matches("input[type=search], select, textarea");
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        query.focus();
      }
      if (event.key === "Escape" && event.target === query && query.value) {
        event.preventDefault();
        query.value = "";
        changed();
      }
    });
    document.addEventListener("click", (event) => {
      const cell = event.target.closest(".areas a");
      if (!cell || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      const again = cell.classList.contains("chosen");
      if (server) server.value = again ? "" : cell.closest(".server").id;
      area.value = again ? "" : cell.dataset.area;
      if (run) run.value = again ? "" : cell.dataset.run;
      changed();
    });
  }
  addEventListener("hashchange", read);
  read();
})();
