"use strict";
(() => {
  const grey = "#8a93a3";
  const config = {
    background: null,
    font: getComputedStyle(document.body).fontFamily,  // Vega measures labels with it
    axis: {labelColor: "currentColor", titleColor: "currentColor", gridColor: grey, gridOpacity: 0.25, domainColor: grey, tickColor: grey, labelLimit: 190, labelOverlap: "greedy", titleFontWeight: "normal"},
    legend: {labelColor: "currentColor", titleColor: "currentColor", labelLimit: 220},
    header: {labelColor: "currentColor", titleColor: "currentColor"},
    title: {color: "currentColor", anchor: "start", fontWeight: 600},
    view: {stroke: null},
  };
  for (const script of document.querySelectorAll("script.spec")) {
    const place = script.parentElement.querySelector(".chart");
    // `ast` interprets expressions: the page needs no eval.
    vegaEmbed(place, JSON.parse(script.textContent), {renderer: "svg", actions: false, ast: true, config})
      .then(() => place.setAttribute("data-drawn", "yes"))
      .catch((error) => { place.textContent = "This chart could not be drawn."; console.error(error); });
  }
  const step = 25, printed = 50, printing = matchMedia("print");
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], rows = [...body.rows];
    const tools = document.getElementById(table.id.replace(/-table$/, "-tools"));
    const search = tools?.querySelector("input"), select = tools?.querySelector("select");
    const more = tools?.querySelector("button"), count = tools?.querySelector("output");
    let limit = step, order = rows.slice();
    const note = table.parentElement.nextElementSibling;  // how many rows are printed
    rows.forEach((row, number) => {
      row.dataset.at = number;
      row.dataset.text = row.textContent.toLowerCase();
      row.classList.remove("beyond");  // without this script all rows are there
    });
    const show = () => {
      const words = (search?.value ?? "").trim().toLowerCase(), task = select?.value ?? "";
      const found = order.filter((row) => (!words || row.dataset.text.includes(words)) && (!task || row.dataset.task === task));
      const shown = printing.matches ? found.slice(0, printed) : tools ? found.slice(0, limit) : found;
      body.replaceChildren(...shown);
      if (count) count.textContent = `${shown.length.toLocaleString("en")} of ${found.length.toLocaleString("en")} rows shown`;
      if (more) more.hidden = shown.length === found.length;
      if (note?.classList.contains("printed"))
        note.textContent = shown.length < found.length ? `The first ${shown.length} of ${found.length.toLocaleString("en")} rows are printed.` : "";
    };
    table.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
      const head = button.closest("th"), column = head.cellIndex, number = head.classList.contains("n");
      const up = head.getAttribute("aria-sort") === "ascending" || (number && head.getAttribute("aria-sort") !== "descending");
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "descending" : "ascending");
      const key = (row) => { const cell = row.cells[column]; return number ? parseFloat(cell.dataset.v ?? "NaN") : cell.textContent; };
      order.sort((a, b) => {
        const x = key(a), y = key(b), missing = (v) => number && Number.isNaN(v);
        if (missing(x) || missing(y)) return missing(x) - missing(y);
        const by = number ? x - y : x.localeCompare(y, undefined, {numeric: true});
        return (up ? -by : by) || a.dataset.at - b.dataset.at;
      });
      show();
    }));
    search?.addEventListener("input", () => { limit = step; show(); });
    select?.addEventListener("change", () => { limit = step; show(); });
    more?.addEventListener("click", () => { limit += 4 * step; show(); });
    printing.addEventListener("change", show);
    show();
  }
  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
})();
