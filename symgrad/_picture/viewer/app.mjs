// The state of the page and what it shows: what is open, chosen, coloured, and where the picture stands.

import { packNumbers, readAddress, unpackNumbers, writeAddress } from "./address.mjs";
import { colourings, mix, THEMES } from "./colour.mjs";
import { Painter, WireIndex } from "./draw.mjs";
import { groupPanel, legend, opPanel } from "./panel.mjs";
import { Placer, Shown } from "./place.mjs";
import { textMeasure } from "./text.mjs";
import { between, centred, firstView, fitted, withinSight, zoomed } from "./view.mjs";
import { Wires } from "./wires.mjs";

const MOVING_MS = 220;
const MOST_MOVING = 1500; // boxes; more than that jump
const WIRES_AT_REST = 9000;
const WIRES_IN_MOTION = 1800;

export class App {
  constructor(model, page) {
    this.model = model;
    this.page = page;
    this.placer = new Placer(model, textMeasure(model.data.metrics));
    this.colourings = colourings(model);
    this.opened = new Uint8Array(model.groupCount);
    this.asides = new Set();
    this.allControl = false;
    this.colour = "role";
    this.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.chosen = null; // { op } or { group, column }
    this.path = null; // { from, to, ops }
    this.pathStart = -1;
    this.pathEnd = -1;
    this.found = [];
    this.hovered = -1;
    this.view = { scale: 1, x: 0, y: 0 };
    this.times = {};
    this.restore(readAddress(location.hash));
  }

  // ---- state that survives in the address

  /** Takes over what an address says; what it does not say, and nonsense, becomes the first view. */
  restore(state) {
    const { model } = this;
    this.opened.fill(0);
    const opened = state.open === undefined ? model.data.opened : unpackNumbers(state.open, model.groupCount);
    for (const at of opened) this.opened[at] = 1;
    const known = model.data.asides.filter(Boolean);
    this.asides = new Set((state.show ?? "").split(",").filter((aside) => known.includes(aside)));
    this.allControl = state.control === "all";
    this.colour = this.colourings.has(state.colour) ? state.colour : model.data.colour;
    if (Object.hasOwn(THEMES, state.theme ?? "")) this.theme = state.theme;
    const op = (name) => model.positions().get(name) ?? -1;
    this.chosen = null;
    if (state.op && op(state.op) >= 0) this.chosen = { op: op(state.op) };
    const [group, column] = (state.group ?? "").split(".").map(Number);
    if (group > 0 && group < model.groupCount && column >= 0 && column < model.columns.length) {
      this.chosen = { group, column };
    }
    this.path = null;
    if (state.from && op(state.from) >= 0 && op(state.to) >= 0) this.#findPath(op(state.from), op(state.to));
    this.#applyTheme();
    this.layout();
    this.#showPanel(); // it takes room
    const view = (state.view ?? "").split(",").map(Number);
    const isView = view.length === 3 && view.every(Number.isFinite) && view[2] > 0;
    if (isView) this.#lookAt({ x: view[0], y: view[1], scale: view[2] });
    else this.view = firstView(this.placed, this.room());
    this.refresh();
  }

  #lookAt({ x, y, scale }) {
    const room = this.room();
    this.view = { scale, x: room.width / 2 - scale * x, y: room.height / 2 - scale * y };
  }

  address() {
    const { model, view } = this;
    const opened = [];
    for (let at = 1; at < model.groupCount; at++) if (this.opened[at]) opened.push(at);
    const first = [...model.data.opened].sort((a, b) => a - b);
    const room = this.room();
    const round = (value, digits) => Number(value.toFixed(digits));
    const middle = [(room.width / 2 - view.x) / view.scale, (room.height / 2 - view.y) / view.scale];
    const isFirst = opened.length === first.length && opened.every((at, i) => at === first[i]);
    return writeAddress({
      open: isFirst ? "" : packNumbers(opened) || "0",
      op: this.chosen?.op >= 0 ? model.names()[this.chosen.op] : "",
      group: this.chosen?.group > 0 ? `${this.chosen.group}.${this.chosen.column}` : "",
      from: this.path ? model.names()[this.path.from] : "",
      to: this.path ? model.names()[this.path.to] : "",
      show: [...this.asides].sort().join(","),
      control: this.allControl ? "all" : "",
      colour: this.colour === model.data.colour ? "" : this.colour,
      theme: this.themeChosen ? this.theme : "",
      view: `${round(middle[0], 0)},${round(middle[1], 0)},${Number(view.scale.toPrecision(3))}`,
    });
  }

  #remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      if (location.protocol === "about:") return; // a notebook's frame has no address
      this.ownHash = `#${this.address()}`;
      try {
        history.replaceState(null, "", this.ownHash);
      } catch {
        // some browsers allow only so many a minute; the next one will tell the same
      }
    }, 250);
  }

  // ---- the picture

  /** Places boxes and lines anew. */
  layout() {
    const begun = performance.now();
    const filters = [...this.asides].sort().join();
    if (this.filters !== filters) this.shown = new Shown(this.model, this.asides);
    this.filters = filters;
    this.placed = this.placer.place(this.opened, this.shown);
    const placedAt = performance.now();
    this.wires = new Wires(this.model, this.placed, this.shown, { allControl: this.allControl });
    [this.placed.left, this.placed.right] = this.wires.reach();
    this.index = new WireIndex(this.wires, this.placed.height);
    this.hovered = -1;
    this.times.place = placedAt - begun;
    this.times.wires = performance.now() - placedAt;
    this.#paint();
  }

  #paint() {
    const colouring = this.colourings.get(this.colour).make();
    const theme = THEMES[this.theme];
    colouring.prepare(this.placed, this.shown, theme);
    this.colouring = colouring;
    const { paint } = this.model.data;
    const isDark = this.theme === "dark";
    const lineOf = (colour) => (isDark ? mix(colour, "#ffffff", 0.72) : colour);
    const last = this.model.columns.length - 1;
    this.lineOf = lineOf;
    this.painter = new Painter({
      model: this.model,
      placer: this.placer,
      placed: this.placed,
      shown: this.shown,
      wires: this.wires,
      index: this.index,
      paints: colouring.box,
      theme,
      wireColour: (column) => lineOf(paint[column === 0 ? "forward" : column === last ? "update" : "backward"]),
    });
    this.map = null;
  }

  boxOf(chosen) {
    if (!chosen) return -1;
    if (chosen.op >= 0) return this.wires.seen[chosen.op];
    const { placed } = this;
    for (const at of this.model.around(chosen.group)) {
      for (let i = 0; i < placed.count; i++) {
        if (placed.group[i] === at && placed.column[i] === chosen.column && placed.op[i] < 0) return i;
      }
    }
    return -1;
  }

  /** What a box is, in words that outlive the next layout. */
  whatIs(box) {
    const { placed } = this;
    if (placed.op[box] >= 0) return { op: placed.op[box] };
    return { group: placed.group[box], column: placed.column[box] };
  }

  titleOf(box) {
    const { placed } = this;
    return placed.op[box] >= 0
      ? this.model.opLabel(placed.op[box])
      : this.placer.label(placed.group[box], placed.column[box], this.shown);
  }

  rect(box) {
    const { placed } = this;
    return [placed.x[box], placed.y[box], placed.w[box], placed.h[box]];
  }

  /** The innermost box at a point of the screen, -1 if there is none. */
  boxAt(point) {
    const { placed, view } = this;
    const { entries } = placed;
    const x = (point.x - view.x) / view.scale;
    const y = (point.y - view.y) / view.scale;
    let found = -1;
    for (let e = 0; e < entries.group.length; ) {
      if (entries.top[e] > y || entries.bottom[e] < y) {
        e = entries.next[e];
        continue;
      }
      for (let i = entries.first[e]; i < entries.end[e]; i++) {
        const [left, top, w, h] = this.rect(i);
        if (x >= left && x <= left + w && y >= top && y <= top + h) found = i;
      }
      e += 1;
    }
    return found;
  }

  /** Room for the picture in CSS pixels, beside the panel if that is open. */
  room() {
    const { picture, panel } = this.page;
    const taken = panel.hidden ? 0 : panel.offsetWidth;
    return { width: Math.max(200, picture.clientWidth - taken), height: Math.max(100, picture.clientHeight) };
  }

  // ---- actions

  /** Opens or closes a group; the box that was clicked stays where it is on the screen. */
  toggle(group, column) {
    const before = this.boxOf({ group, column });
    if (before < 0) return; // the filters hide it
    const spot = this.rect(before);
    const old = this.placed.count <= MOST_MOVING ? this.#spots() : null;
    this.opened[group] = this.opened[group] ? 0 : 1;
    this.layout();
    const after = this.boxOf({ group, column });
    const [x, y] = this.rect(after >= 0 ? after : 0);
    this.view.x += this.view.scale * (spot[0] - x);
    this.view.y += this.view.scale * (spot[1] - y);
    if (old && this.placed.count <= MOST_MOVING) this.#glide(old, spot);
    this.say(`${this.model.groupLabel[group]} ${this.opened[group] ? "open" : "closed"}`);
    this.refresh();
  }

  #spots() {
    const { placed, view } = this;
    const found = new Map();
    for (let i = 0; i < placed.count; i++) {
      const [x, y, w, h] = this.rect(i);
      found.set(this.#key(i), [x * view.scale + view.x, y * view.scale + view.y, w, h]);
    }
    return found;
  }

  #key(i) {
    const { placed } = this;
    return placed.op[i] >= 0 ? `o${placed.op[i]}` : `g${placed.group[i]}.${placed.column[i]}`;
  }

  /** Moves boxes from where they were to where they are now. */
  #glide(old, spot) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const { view } = this;
    const began = performance.now();
    const start = (i) => {
      const known = old.get(this.#key(i));
      if (!known) return spot;
      return [(known[0] - view.x) / view.scale, (known[1] - view.y) / view.scale, known[2], known[3]];
    };
    const starts = new Map();
    this.motion = {
      until: began + MOVING_MS,
      moved: (i, own) => {
        if (!starts.has(i)) starts.set(i, start(i));
        const t = Math.min(1, (performance.now() - began) / MOVING_MS);
        const share = 1 - (1 - t) ** 3;
        return own.map((value, k) => starts.get(i)[k] + (value - starts.get(i)[k]) * share);
      },
    };
  }

  /** Moves the camera, smoothly where that is welcome. */
  moveTo(target) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = target;
    } else {
      const from = { ...this.view };
      const began = performance.now();
      this.flight = () => {
        const t = Math.min(1, (performance.now() - began) / MOVING_MS);
        this.view = between(from, target, 1 - (1 - t) ** 3);
        if (t >= 1) this.flight = null;
      };
    }
    this.request();
    this.#remember();
  }

  zoom(factor, point) {
    this.flight = null;
    const least = Math.min(0.2, fitted(this.placed, this.room()).scale * 0.7);
    this.view = zoomed(this.view, factor, point, least);
    this.stir();
  }

  pan(dx, dy) {
    this.flight = null;
    this.view = { ...this.view, x: this.view.x + dx, y: this.view.y + dy };
    this.stir();
  }

  /** Draws with less detail now, and in full when the hand rests. */
  stir() {
    this.busyUntil = performance.now() + 140;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.request(), 160);
    this.request();
    this.#remember();
  }

  fit() {
    this.moveTo(fitted(this.placed, this.room()));
  }

  reset() {
    this.pathStart = -1;
    this.pathEnd = -1;
    this.restore({ theme: this.theme });
  }

  setAll(open) {
    for (let at = 1; at < this.model.groupCount; at++) this.opened[at] = open ? 1 : 0;
    this.layout();
    this.view = firstView(this.placed, this.room());
    this.refresh();
  }

  setShown(aside, isShown) {
    if (isShown) this.asides.add(aside);
    else this.asides.delete(aside);
    this.layout();
    this.refresh();
  }

  setAllControl(isShown) {
    this.allControl = isShown;
    this.layout();
    this.refresh();
  }

  setColour(key) {
    this.colour = key;
    this.#paint();
    this.refresh();
  }

  setTheme(theme) {
    this.theme = theme;
    this.themeChosen = true;
    this.#applyTheme();
    this.#paint();
    this.refresh();
  }

  #applyTheme() {
    document.documentElement.dataset.theme = this.theme;
  }

  choose(chosen) {
    this.chosen = chosen;
    const box = this.boxOf(chosen);
    if (box >= 0) this.say(`${this.titleOf(box)} selected`);
    this.refresh();
    if (box >= 0) {
      const inSight = withinSight(this.view, this.rect(box), this.room());
      const isFrame = this.placed.open[box] === 1;
      if (!isFrame && (inSight.x !== this.view.x || inSight.y !== this.view.y)) this.moveTo(inSight);
    }
  }

  /** Opens everything around an op, shows it whatever the filters say, and goes there. */
  go(op) {
    const { model } = this;
    const aside = model.aside(op);
    if (aside) this.asides.add(aside);
    for (const at of model.around(model.opGroup[op])) this.opened[at] = 1;
    this.layout();
    this.chosen = { op };
    this.refresh();
    this.moveTo(centred(this.view, this.rect(this.boxOf(this.chosen)), this.room()));
    this.say(`${model.names()[op]} selected`);
  }

  startPath(op) {
    this.pathStart = op;
    this.path = null;
    this.say(`Path from ${this.model.names()[op]}: choose its end`);
    this.refresh();
  }

  endPath(op) {
    if (this.pathStart < 0) {
      this.pathEnd = op;
      this.say(`Path to ${this.model.names()[op]}: choose its start`);
      this.refresh();
      return;
    }
    this.#findPath(this.pathStart, op);
    this.refresh();
  }

  #findPath(from, to) {
    this.path = { from, to, ops: this.model.between(from, to) };
    this.pathStart = -1;
    this.pathEnd = -1;
  }

  /** Takes an op as the start or the end of a path, whichever is missing. */
  pathFrom(op) {
    if (this.pathEnd >= 0) {
      this.#findPath(op, this.pathEnd);
      this.refresh();
    } else this.startPath(op);
  }

  clearPath() {
    this.path = null;
    this.pathStart = -1;
    this.pathEnd = -1;
    this.refresh();
  }

  /** Opens every group that a path goes through. */
  openPath() {
    for (const op of this.path.ops) for (const at of this.model.around(this.model.opGroup[op])) this.opened[at] = 1;
    this.layout();
    this.refresh();
    this.moveTo(centred(this.view, this.rect(this.boxOf({ op: this.path.from })), this.room()));
  }

  say(text) {
    this.page.status.textContent = text;
  }

  // ---- drawing

  /** Brings page and picture up to date. */
  refresh() {
    this.#showPanel();
    this.#showPath();
    this.page.legend.replaceChildren(...legend(this.colouring, this.lineOf));
    this.page.sync(this);
    this.request();
    this.#remember();
  }

  #showPanel() {
    const { panel, main } = this.page;
    const box = this.boxOf(this.chosen);
    const isShown = this.chosen !== null && (box >= 0 || this.chosen.op >= 0);
    panel.hidden = !isShown;
    main.classList.toggle("with-panel", isShown);
    if (!isShown) return;
    const go = (op) => this.go(op);
    const parts =
      this.chosen.op >= 0
        ? opPanel(this.model, this.chosen.op, {
            go,
            pathFrom: (op) => this.pathFrom(op),
            pathTo: (op) => this.endPath(op),
          })
        : groupPanel(
            this.model,
            { ...this.chosen, title: this.placer.label(this.chosen.group, this.chosen.column, this.shown) },
            {
              go,
              isOpen: this.opened[this.chosen.group] === 1,
              toggle: () => this.toggle(this.chosen.group, this.chosen.column),
            },
          );
    this.page.fillPanel(parts, () => this.choose(null));
  }

  #showPath() {
    const name = (op) => this.model.names()[op];
    const start = this.pathStart >= 0 ? `Path from ${name(this.pathStart)}: choose its end` : "";
    const end = this.pathEnd >= 0 ? `Path to ${name(this.pathEnd)}: choose its start` : "";
    if (!this.path) {
      this.page.fillPath(start || end, this, false);
      return;
    }
    const { from, to, ops } = this.path;
    const ends = `from ${name(from)} to ${name(to)}`;
    this.page.fillPath(
      ops.size ? `Path ${ends}: ${ops.size.toLocaleString("en-US")} ops` : `No data path ${ends}`,
      this,
      ops.size > 0,
    );
  }

  #boxes(ops) {
    const found = new Set();
    for (const op of ops) if (this.wires.seen[op] >= 0) found.add(this.wires.seen[op]);
    return found;
  }

  marks() {
    const chosen = this.chosen?.op ?? -1;
    const kin = chosen >= 0 ? this.model.kin(chosen) : null;
    const start = this.pathStart >= 0 ? this.pathStart : this.pathEnd;
    return {
      selected: this.boxOf(this.chosen),
      hovered: this.hovered,
      kin: kin && kin.size > 1 ? this.#boxes(kin) : null,
      path: this.path ? this.#boxes(this.path.ops) : null,
      found: this.found.length || start >= 0 ? this.#boxes([...this.found, ...(start >= 0 ? [start] : [])]) : null,
    };
  }

  request() {
    if (this.requested) return;
    this.requested = true;
    requestAnimationFrame(() => {
      this.requested = false;
      this.draw();
    });
  }

  draw() {
    if (this.isPrinting) return;
    const begun = performance.now();
    this.flight?.();
    const { picture } = this.page;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [picture.clientWidth, picture.clientHeight];
    if (picture.width !== Math.round(width * ratio)) picture.width = Math.round(width * ratio);
    if (picture.height !== Math.round(height * ratio)) picture.height = Math.round(height * ratio);
    const context = picture.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const isMoving = this.motion !== undefined && this.motion !== null && begun < this.motion.until;
    if (!isMoving) this.motion = null;
    const isBusy = begun < (this.busyUntil ?? 0) || this.flight;
    this.painter.marks = this.marks();
    this.painter.draw(
      context,
      { ...this.view, width, height },
      {
        budget: isMoving ? 0 : isBusy ? WIRES_IN_MOTION : WIRES_AT_REST,
        text: true,
        moved: isMoving ? this.motion.moved : null,
      },
    );
    this.page.drawMap(this);
    this.times.draw = performance.now() - begun;
    if (isMoving || this.flight) this.request();
  }

  /** Where a box is on the screen: [x, y, w, h] in CSS pixels; null where nothing shows the op or group. */
  onScreen(name) {
    const { model, view } = this;
    const op = model.positions().get(name);
    let box = op === undefined ? -1 : this.wires.seen[op];
    if (box < 0) {
      for (let i = 0; i < this.placed.count && box < 0; i++) {
        if (this.placed.op[i] < 0 && model.groupName(this.placed.group[i]) === name) box = i;
      }
    }
    if (box < 0) return null;
    const [x, y, w, h] = this.rect(box);
    return [view.x + view.scale * x, view.y + view.scale * y, view.scale * w, view.scale * h];
  }
}
