// Sorts and searches. The page is complete without it; it makes the rows of the table from the embedded data, so
// that only as many stand in the page as the reader asks for, and orders the cards likewise.
"use strict";
(() => {
  const block = document.getElementById("data");
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const body = document.querySelector("#ranking tbody");
  const headings = [...document.querySelectorAll("#ranking th[data-key]")];
  const search = document.getElementById("search");
  const select = document.getElementById("sort");
  const found = document.getElementById("found");
  const more = document.getElementById("more");
  const cards = document.getElementById("cards");
  const cardOf = new Map([...cards.children].map((card) => [Number(card.dataset.card), card]));
  let key = data.sort;
  let shown = data.page;
  let rows = data.rows;

  for (const row of data.rows) row.text = (row.route + " " + row.search).toLowerCase();

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  const rowOf = (row, index) => {
    const line = element("tr");
    line.append(element("td", "rank", index + 1));
    const path = element("th", "path");
    path.scope = "row";
    const name = element(row.card === null ? "span" : "a", "", row.route);
    if (row.card === null) name.title = "Its timeline is not part of this page";
    else name.href = "#p" + row.card;
    path.append(name, element("small", "", row.hops));
    line.append(path);
    row.cells.forEach((text, column) => {
      const cell = element("td", "number" + (data.wide[column] ? " wide" : ""), text);
      if (column === 0) {
        cell.classList.add("share");
        cell.style.setProperty("--share", row.bar + "%");
      }
      line.append(cell);
    });
    return line;
  };

  const show = () => {
    body.replaceChildren(...rows.slice(0, shown).map(rowOf));
    more.hidden = rows.length <= shown;
    const all = data.rows.length;
    found.textContent = rows.length === all ? "" : rows.length + " of " + all + " patterns";
  };

  const arrange = () => {
    const column = data.keys.indexOf(key);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows = data.rows.filter((row) => words.every((word) => row.text.includes(word)));
    const value = (row) => row.keys[column] ?? -Infinity;
    rows.sort((a, b) => value(b) - value(a) || 0);
    shown = data.page;
    for (const heading of headings) {
      if (heading.dataset.key === key) heading.setAttribute("aria-sort", "descending");
      else heading.removeAttribute("aria-sort");
    }
    select.value = key;
    show();
    const wanted = new Set();
    rows.forEach((row, index) => {
      const card = cardOf.get(row.card);
      if (!card) return;
      wanted.add(card);
      card.querySelector(".rank").textContent = index + 1;
      cards.append(card);
    });
    for (const card of cards.children) card.hidden = !wanted.has(card);
  };

  for (const heading of headings) {
    const button = element("button", "", heading.textContent);
    button.type = "button";
    button.title = heading.title;
    button.addEventListener("click", () => {
      key = heading.dataset.key;
      arrange();
    });
    heading.replaceChildren(button);
  }
  select.addEventListener("change", () => {
    key = select.value;
    arrange();
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(arrange, 80);
  });
  more.querySelector("button").addEventListener("click", () => {
    const first = shown;
    shown += data.page;
    show();
    body.children[first]?.querySelector("a")?.focus();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element && event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape" && event.target === search) {
      search.value = "";
      arrange();
    }
  });
  const open = () => {
    const card = document.getElementById(location.hash.slice(1));
    if (!card || card.tagName !== "DETAILS") return;
    card.hidden = false;
    card.open = true;
    card.scrollIntoView();
  };
  addEventListener("hashchange", open);
  body.addEventListener("click", (event) => {
    // A second click on the same link changes no hash.
    if (event.target.closest("a")?.hash === location.hash) open();
  });
  document.documentElement.classList.add("js");
  more.hidden = data.rows.length <= shown;
  open();
})();
