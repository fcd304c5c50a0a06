// Starts the viewer: finds the parts of the page, unpacks the data, listens.

import { readAddress } from "./address.mjs";
import { App } from "./app.mjs";
import { THEMES } from "./colour.mjs";
import { listenToKeys, listenToMap, listenToPointer, listenToSearch } from "./input.mjs";
import { Model } from "./model.mjs";
import { element } from "./panel.mjs";
import { fitted, isWhole } from "./view.mjs";

const byId = (id) => document.getElementById(id);

/** The parts of the page and what fills them. */
class Page {
  constructor() {
    for (const id of [
      "picture",
      "map",
      "tip",
      "panel",
      "legend",
      "search",
      "results",
      "colour",
      "filters",
      "status",
      "keys",
    ]) {
      this[id] = byId(id);
    }
    this.pathBar = byId("path");
    this.main = document.querySelector("main");
  }

  line(text) {
    return element("div", { text });
  }

  /** Makes the controls show the state. */
  sync(app) {
    this.colour.value = app.colour;
    for (const box of document.querySelectorAll("[data-show]")) box.checked = app.asides.has(box.dataset.show);
    byId("control").checked = app.allControl;
    byId("theme").textContent = app.theme === "dark" ? "Light" : "Dark";
  }

  fillPanel(parts, close) {
    const shut = element("button", { className: "close", text: "×", title: "Close (Esc)" });
    shut.type = "button";
    shut.setAttribute("aria-label", "Close details");
    shut.addEventListener("click", close);
    const { scrollTop } = this.panel;
    this.panel.replaceChildren(shut, ...parts);
    this.panel.scrollTop = scrollTop;
  }

  fillPath(text, app, canOpen) {
    this.pathBar.hidden = text === "";
    const parts = [element("span", { text })];
    const add = (label, action, title) => {
      const made = element("button", { text: label, title });
      made.type = "button";
      made.addEventListener("click", action);
      parts.push(made);
    };
    if (canOpen) add("Open it", () => app.openPath(), "Open every group on the path");
    add("×", () => app.clearPath(), "Clear the path (Esc)");
    this.pathBar.replaceChildren(...parts);
  }

  resultLines(model, found, count, text, pick) {
    const lines = found.map((op) => {
      const line = element("div", {}, [
        element("span", { text: model.names()[op] }),
        element("span", { className: "faint", text: ` ${model.type(op)}` }),
      ]);
      line.setAttribute("role", "option");
      line.addEventListener("click", () => pick(op));
      return line;
    });
    const rest = count - found.length;
    if (rest > 0) lines.push(element("div", { className: "faint", text: `and ${rest.toLocaleString("en-US")} more` }));
    if (!count) lines.push(element("div", { className: "faint", text: `nothing is called “${text.trim()}”` }));
    return lines;
  }

  toggleKeys() {
    this.keys.hidden = !this.keys.hidden;
  }

  /** Esc closes one thing at a time, the topmost first. */
  escape(app) {
    this.tip.hidden = true;
    if (!this.keys.hidden) this.keys.hidden = true;
    else if (this.filters.open) this.filters.open = false;
    else if (this.search.value || !this.results.hidden) {
      this.search.value = "";
      this.results.hidden = true;
      app.found = [];
      this.picture.focus();
      app.request();
    } else if (app.path || app.pathStart >= 0 || app.pathEnd >= 0) app.clearPath();
    else app.choose(null);
  }

  #mapScale(app) {
    const { width, height } = app.placed;
    const [w, h] = [this.map.width - 8, this.map.height - 8];
    const scale = Math.min(w / Math.max(width, 1), h / Math.max(height, 1));
    // a very tall or wide picture is stretched, so that its thin side can be seen at all
    const sx = Math.max(scale, Math.min(w, 50) / Math.max(width, 1));
    const sy = Math.max(scale, Math.min(h, 50) / Math.max(height, 1));
    return { sx, sy, x: (this.map.width - sx * width) / 2, y: (this.map.height - sy * height) / 2 };
  }

  mapPoint(app, point) {
    const { sx, sy, x, y } = this.#mapScale(app);
    return { x: (point.x - x) / sx, y: (point.y - y) / sy };
  }

  /** The overview: every box as a spot, drawn once a layout, and a frame around what the window shows. */
  drawMap(app) {
    const context = this.map.getContext("2d");
    const { sx, sy, x, y } = this.#mapScale(app);
    if (!app.map) app.map = this.#drawnMap(app, { sx, sy, x, y });
    context.drawImage(app.map, 0, 0);
    const { view } = app;
    const room = app.room();
    this.map.classList.toggle("idle", isWhole(view, app.placed, room));
    context.strokeStyle = THEMES[app.theme].mark;
    context.lineWidth = 1.5;
    const w = Math.max(4, (room.width / view.scale) * sx);
    const h = Math.max(4, (room.height / view.scale) * sy);
    context.strokeRect(x - (view.x / view.scale) * sx, y - (view.y / view.scale) * sy, w, h);
  }

  #drawnMap(app, { sx, sy, x, y }) {
    const { width, height } = this.map;
    const made = new OffscreenCanvas(width, height);
    const context = made.getContext("2d");
    context.fillStyle = THEMES[app.theme].background;
    context.fillRect(0, 0, width, height);
    const { placed } = app;
    const taken = new Uint8Array(width * height);
    for (let i = 0; i < placed.count; i++) {
      if (placed.open[i]) continue;
      const [left, top] = [x + placed.x[i] * sx, y + placed.y[i] * sy];
      const cell = Math.floor(top) * width + Math.floor(left);
      if (taken[cell]) continue;
      taken[cell] = 1;
      context.fillStyle = app.colouring.box(i).line;
      context.fillRect(left, top, Math.max(1, placed.w[i] * sx), Math.max(1, placed.h[i] * sy));
    }
    return made;
  }
}

function listenToControls(app, page) {
  for (const [key, { label }] of app.colourings) {
    const option = element("option", { text: label });
    option.value = key;
    page.colour.append(option);
  }
  page.colour.addEventListener("change", () => app.setColour(page.colour.value));
  for (const box of document.querySelectorAll("[data-show]")) {
    box.addEventListener("change", () => app.setShown(box.dataset.show, box.checked));
  }
  byId("control").addEventListener("change", (event) => app.setAllControl(event.target.checked));
  byId("fit").addEventListener("click", () => app.fit());
  byId("reset").addEventListener("click", () => app.reset());
  byId("open-all").addEventListener("click", () => app.setAll(true));
  byId("close-all").addEventListener("click", () => app.setAll(false));
  byId("theme").addEventListener("click", () => app.setTheme(app.theme === "dark" ? "light" : "dark"));
  byId("help").addEventListener("click", () => page.toggleKeys());
  page.keys.addEventListener("click", () => page.toggleKeys());
}

/** On paper: the whole picture on one page, upright or across, light, with more pixels than the screen has. */
function listenToPrinter(app, page) {
  let kept = null;
  window.addEventListener("beforeprint", () => {
    kept = { view: app.view, theme: app.theme, chosen: app.themeChosen };
    app.setTheme("light");
    app.isPrinting = true;
    const { left, right, height: tall } = app.placed;
    const ratio = Math.min(4, Math.max(0.25, (tall + 90) / (right - left + 60)));
    document.documentElement.dataset.paper = ratio > 0.9 ? "tall" : "wide";
    const width = Math.round(2600 / Math.max(1, ratio));
    const height = Math.round(width * ratio);
    page.picture.width = width;
    page.picture.height = height;
    const context = page.picture.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    app.painter.marks = app.marks();
    const view = fitted(app.placed, { width, height }, 4);
    app.painter.draw(context, { ...view, width, height }, { budget: 20000, text: true, moved: null });
  });
  window.addEventListener("afterprint", () => {
    app.isPrinting = false;
    app.setTheme(kept.theme);
    app.themeChosen = kept.chosen;
    app.view = kept.view;
    app.request();
  });
}

function start() {
  const begun = performance.now();
  const data = JSON.parse(byId("data").textContent);
  const page = new Page();
  const app = new App(new Model(data), page);
  listenToControls(app, page);
  page.sync(app);
  listenToPointer(app, page);
  listenToKeys(app, page);
  listenToSearch(app, page);
  listenToMap(app, page);
  listenToPrinter(app, page);
  window.addEventListener("resize", () => app.request());
  window.addEventListener("hashchange", () => {
    if (location.hash !== app.ownHash) app.restore(readAddress(location.hash));
  });
  app.draw();
  app.times.ready = performance.now() - begun;
  app.times.sinceOpened = performance.now(); // reading the file is in it
  globalThis.symgradViewer = app; // for tests and for the console
  document.documentElement.dataset.ready = "yes";
}

start();
