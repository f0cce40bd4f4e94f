"use strict";
(() => {
  // The page is readable without this: it sorts, searches, and keeps both in the address.
  const byId = (id) => document.getElementById(id);
  const body = byId("rows");
  const query = byId("query");
  const boxes = [...document.querySelectorAll("input[name=outcome]")];
  const heads = [...byId("heads").cells];
  const rows = [...body.rows].map((row) => ({ row, text: null, outcome: row.cells[2].firstElementChild.textContent }));
  let sorted = -1;
  let down = false;

  const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  function textOf(each) {
    if (each.text === null) each.text = each.row.textContent.toLowerCase();
    return each.text;
  }

  function apply() {
    const words = wordsOf(query.value);
    const wanted = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    let shown = 0;
    for (const each of rows) {
      const fits = (!wanted.size || wanted.has(each.outcome)) && words.every((word) => textOf(each).includes(word));
      each.row.hidden = !fits;
      if (fits) shown += 1;
    }
    byId("shown").value = words.length || wanted.size ? `${shown} of ${rows.length} servers match` : "";
    byId("nothing").hidden = shown > 0;
  }

  function sort(column, descending) {
    const numeric = heads[column].classList.contains("num");
    const key = (each) => {
      const text = each.row.cells[column].textContent;
      return numeric ? (text === "" ? null : Number(text)) : text.toLowerCase();
    };
    const keyed = rows.map((each) => [key(each), each]);
    const sign = descending ? -1 : 1;
    const compare = numeric ? (a, b) => a - b : new Intl.Collator().compare;
    // What is not known comes last in either direction.
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
    const fragment = document.createDocumentFragment();
    for (const [, each] of keyed) fragment.append(each.row);
    body.append(fragment);
    sorted = column;
    down = descending;
    for (const [number, head] of heads.entries()) {
      head.setAttribute("aria-sort", number !== column ? "none" : descending ? "descending" : "ascending");
      head.querySelector("span").textContent = number !== column ? "" : descending ? " ▾" : " ▴";
    }
  }

  // -- the address: #show=failed&sort=3-&q=words

  function write() {
    const state = new URLSearchParams();
    const show = boxes.filter((box) => box.checked).map((box) => box.value).join(",");
    if (show) state.set("show", show);
    if (sorted >= 0) state.set("sort", `${sorted}${down ? "-" : ""}`);
    if (query.value) state.set("q", query.value);
    const words = state.toString().replaceAll("%2C", ",");
    history.replaceState(null, "", words ? `#${words}` : location.pathname + location.search);
  }

  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    const show = (state.get("show") || "").split(",");
    for (const box of boxes) box.checked = show.includes(box.value);
    query.value = state.get("q") || "";
    const column = parseInt(state.get("sort") || "", 10);
    if (column >= 0 && column < heads.length) sort(column, state.get("sort").endsWith("-"));
    if (query.value || show[0]) apply();
  }

  for (const [number, head] of heads.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes, document.createElement("span"));
    head.append(button);
    button.addEventListener("click", () => {
      sort(number, sorted === number ? !down : head.classList.contains("num"));
      write();
    });
  }
  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      apply();
      write();
    }, 80);
  });
  for (const box of boxes) {
    box.addEventListener("change", () => {
      apply();
      write();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input[type=search]") && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      query.focus();
    }
  });
  byId("filters").hidden = false;
  addEventListener("hashchange", read);
  read();
})();
