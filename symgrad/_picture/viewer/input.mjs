// Mouse, touch and keyboard.

import { tipLines } from "./panel.mjs";
import { nextBox } from "./view.mjs";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Opens or closes the group of a box; an op has nothing to open. */
function toggleBox(app, box) {
  if (box >= 0 && app.placed.op[box] < 0) app.toggle(app.placed.group[box], app.placed.column[box]);
}

export function listenToPointer(app, page) {
  const { picture } = page;
  const down = new Map();
  let isDrag = false;
  const spot = (event) => ({ x: event.offsetX, y: event.offsetY });

  picture.addEventListener("pointerdown", (event) => {
    picture.setPointerCapture(event.pointerId);
    down.set(event.pointerId, spot(event));
    isDrag = false;
    picture.focus({ preventScroll: true });
  });
  picture.addEventListener("pointermove", (event) => {
    const at = spot(event);
    const last = down.get(event.pointerId);
    if (!last) {
      hover(app, page, at);
      return;
    }
    if (down.size === 2) {
      const [other] = [...down].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      const distance = (p) => Math.hypot(p.x - other.x, p.y - other.y);
      isDrag = true;
      app.zoom(distance(at) / Math.max(1, distance(last)), other);
    } else if (isDrag || Math.hypot(at.x - last.x, at.y - last.y) > 3) {
      isDrag = true;
      picture.classList.add("drag");
      page.tip.hidden = true;
      app.pan(at.x - last.x, at.y - last.y);
    } else return;
    down.set(event.pointerId, at);
  });
  const release = (event) => {
    down.delete(event.pointerId);
    picture.classList.remove("drag");
  };
  picture.addEventListener("pointerup", release);
  picture.addEventListener("pointercancel", release);
  picture.addEventListener("pointerleave", () => hover(app, page, null));
  picture.addEventListener("click", (event) => {
    if (isDrag) return;
    const box = app.boxAt(spot(event));
    app.choose(box >= 0 ? app.whatIs(box) : null);
  });
  picture.addEventListener("dblclick", (event) => toggleBox(app, app.boxAt(spot(event))));
  picture.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1;
      app.zoom(Math.exp(-event.deltaY * lines * 0.0015), spot(event));
    },
    { passive: false },
  );
}

function hover(app, page, at) {
  const box = at ? app.boxAt(at) : -1;
  const isNew = box !== app.hovered;
  const isFrame = box >= 0 && app.placed.open[box] === 1;
  if (isNew) {
    app.hovered = isFrame ? -1 : box;
    page.picture.classList.toggle("over", box >= 0 && !isFrame);
    app.request();
  }
  page.tip.hidden = box < 0 || isFrame;
  if (page.tip.hidden) return;
  const { placed } = app;
  if (isNew) {
    const lines = tipLines(app.model, { group: placed.group[box], op: placed.op[box] }, app.titleOf(box));
    if (placed.op[box] < 0) lines.push(`${placed.badge[box]} ops; double click to open`);
    page.tip.replaceChildren(...lines.map((text) => page.line(text)));
  }
  const room = app.room();
  page.tip.style.left = `${Math.max(4, Math.min(at.x + 14, room.width - page.tip.offsetWidth - 8))}px`;
  page.tip.style.top = `${Math.max(4, Math.min(at.y + 14, room.height - page.tip.offsetHeight - 8))}px`;
}

export function listenToKeys(app, page) {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, select, textarea");
    if (event.key === "Escape") {
      page.escape(app);
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keyAction(app, page, event);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

/** What a key does, undefined for a key without meaning. */
function keyAction(app, page, event) {
  const isButton = event.target.matches("button, summary");
  const box = app.boxOf(app.chosen);
  const room = app.room();
  const middle = { x: room.width / 2, y: room.height / 2 };
  if (event.key in ARROWS) return () => arrow(app, box, ARROWS[event.key]);
  if (event.key === "Enter" && !isButton) return () => toggleBox(app, box);
  const simple = {
    "/": () => page.search.focus(),
    "?": () => page.toggleKeys(),
    "+": () => app.zoom(1.25, middle),
    "=": () => app.zoom(1.25, middle),
    "-": () => app.zoom(0.8, middle),
    f: () => app.fit(),
    r: () => app.reset(),
    d: () => app.setTheme(app.theme === "dark" ? "light" : "dark"),
    p: () => {
      if (!(app.chosen?.op >= 0)) return;
      if (app.pathStart >= 0) app.endPath(app.chosen.op);
      else app.pathFrom(app.chosen.op);
    },
  };
  return Object.hasOwn(simple, event.key) ? simple[event.key] : undefined;
}

function arrow(app, box, direction) {
  if (box < 0) {
    app.pan(-60 * direction[0], -60 * direction[1]);
    return;
  }
  const next = nextBox(app.placed, box, direction);
  if (next >= 0) app.choose(app.whatIs(next));
}

export function listenToSearch(app, page) {
  const { search, results } = page;
  let marked = -1;
  const options = () => [...results.querySelectorAll('[role="option"]')];
  const mark = (at) => {
    marked = at;
    for (const [i, option] of options().entries()) option.setAttribute("aria-selected", String(i === at));
    options()[at]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    results.hidden = true;
    marked = -1;
  };
  const pick = (op) => {
    close();
    page.picture.focus();
    app.go(op);
  };

  search.addEventListener("input", () => {
    const { found, count } = app.model.search(search.value, 100);
    app.found = found;
    results.replaceChildren(...page.resultLines(app.model, found.slice(0, 40), count, search.value, pick));
    results.hidden = search.value.trim() === "";
    mark(found.length ? 0 : -1);
    app.say(search.value.trim() ? `${count} found` : "");
    app.request();
  });
  search.addEventListener("keydown", (event) => {
    const count = options().length;
    if (event.key === "ArrowDown" && count) mark((marked + 1) % count);
    else if (event.key === "ArrowUp" && count) mark((marked + count - 1) % count);
    else if (event.key === "Enter" && marked >= 0) options()[marked].click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest(".search")) close();
    if (!event.target.closest("#filters")) page.filters.open = false;
  });
}

export function listenToMap(app, page) {
  const move = (event) => {
    if (event.buttons !== 1) return;
    const ratio = page.map.width / page.map.clientWidth; // a small window shows it smaller than it is drawn
    const to = page.mapPoint(app, { x: event.offsetX * ratio, y: event.offsetY * ratio });
    const room = app.room();
    const { scale } = app.view;
    app.pan(room.width / 2 - scale * to.x - app.view.x, room.height / 2 - scale * to.y - app.view.y);
  };
  page.map.addEventListener("pointerdown", move);
  page.map.addEventListener("pointermove", move);
}
