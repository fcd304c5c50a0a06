// Drawing on a canvas, with as much detail as the scale can show.

import { readableOn } from "./colour.mjs";

const SOLID_BELOW = 5; // a group lower than this many pixels on the screen is one filled rectangle
const TEXT_FROM = 5.5; // height in pixels from which letters are drawn
const SHORTEST_WIRE = 5; // pixels
const TILES = 512;

/** Wires by length and height, to find those that a view can show without looking at all of them. */
export class WireIndex {
  constructor(wires, height) {
    this.wires = wires;
    this.step = Math.max(height, 1) / TILES;
    const { placed } = wires;
    const n = wires.count;
    const slot = new Uint32Array(n);
    const classes = new Map();
    this.low = new Float64Array(n);
    this.length = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const a = wires.from[i];
      const b = wires.to[i];
      const ya = placed.y[a] + placed.h[a] / 2;
      const yb = placed.y[b] + placed.h[b] / 2;
      const across = Math.abs(placed.x[a] + placed.w[a] / 2 - placed.x[b] - placed.w[b] / 2);
      this.length[i] = Math.max(across, Math.abs(ya - yb), 1);
      this.low[i] = Math.min(ya, yb);
      slot[i] = Math.ceil(Math.log2(this.length[i]));
      classes.set(slot[i], (classes.get(slot[i]) ?? 0) + 1);
    }
    this.classes = [...classes.keys()].sort((a, b) => b - a).map((size) => this.#sorted(size, slot));
  }

  /** The wires of one length class in the order of their upper ends. */
  #sorted(size, slot) {
    const counts = new Uint32Array(TILES + 2);
    const tile = (i) => Math.min(TILES, Math.max(0, Math.floor(this.low[i] / this.step)));
    for (let i = 0; i < slot.length; i++) if (slot[i] === size) counts[tile(i) + 1] += 1;
    for (let t = 0; t <= TILES; t++) counts[t + 1] += counts[t];
    const list = new Uint32Array(counts[TILES + 1]);
    const next = counts.slice();
    for (let i = 0; i < slot.length; i++) if (slot[i] === size) list[next[tile(i)]++] = i;
    return { longest: 2 ** size, starts: counts, list };
  }

  /** At most about `budget` wires that cross the band from `top` to `bottom` and are not too short to see. */
  *visible(top, bottom, scale, budget) {
    const found = [];
    let total = 0;
    for (const { longest, starts, list } of this.classes) {
      if (longest * scale < SHORTEST_WIRE) continue;
      const first = starts[Math.min(TILES, Math.max(0, Math.floor((top - longest) / this.step)))];
      const end = starts[Math.min(TILES, Math.max(0, Math.floor(bottom / this.step))) + 1];
      if (end > first) found.push([list, first, end]);
      total += Math.max(0, end - first);
    }
    const stride = Math.max(1, total / budget);
    for (const [list, first, end] of found) {
      for (let at = first; at < end; at += stride) {
        const i = list[Math.floor(at)];
        if (this.low[i] <= bottom && this.low[i] + this.length[i] >= top) yield i;
      }
    }
  }
}

/** Collects shapes of the same look, so that each look costs one call. */
class Batches {
  constructor() {
    this.looks = new Map();
  }

  path(key, look) {
    let found = this.looks.get(key);
    if (!found) {
      found = { ...look, path: new Path2D() };
      this.looks.set(key, found);
    }
    return found.path;
  }

  flush(context, finish) {
    for (const look of this.looks.values()) finish(context, look);
  }
}

/**
 * What is drawn:
 * `model`, `placer`, `placed`, `shown`, `wires`, `index`: the picture; `paints`: box to colours; `theme`;
 * `marks`: { selected, hovered: box or -1, kin, path, found: sets of boxes or null }.
 */
export class Painter {
  constructor(scene) {
    Object.assign(this, scene);
    this.labels = new Map();
  }

  /**
   * @param {CanvasRenderingContext2D} context scaled to CSS pixels
   * @param {{scale: number, x: number, y: number, width: number, height: number}} view where the picture's origin is
   * @param {{budget: number, text: boolean, moved: (function(number): number[])|null}} detail
   */
  draw(context, view, detail) {
    const { theme } = this;
    context.save();
    context.fillStyle = theme.background;
    context.fillRect(0, 0, view.width, view.height);
    context.translate(view.x, view.y);
    context.scale(view.scale, view.scale);
    this.world = {
      left: -view.x / view.scale,
      top: -view.y / view.scale,
      right: (view.width - view.x) / view.scale,
      bottom: (view.height - view.y) / view.scale,
    };
    this.scale = view.scale;
    this.detail = detail;
    this.#collect();
    this.#frames(context);
    if (detail.budget) this.#wires(context);
    this.#solids(context);
    this.#closed(context);
    if (detail.text) this.#frameLabels(context);
    if (detail.text) this.#columnHeads(context);
    context.restore();
  }

  /** Sorts the boxes in view into open frames, boxes to draw in full, and those too small for more than a spot. */
  #collect() {
    const { placed, world, scale } = this;
    const { entries } = placed;
    this.openFrames = [];
    this.full = [];
    this.solid = [];
    const isOut = (i) => placed.x[i] > world.right || placed.x[i] + placed.w[i] < world.left;
    let spotRow = -1;
    let spots = 0;
    for (let e = 0; e < entries.group.length; ) {
      if (entries.bottom[e] < world.top || entries.top[e] > world.bottom) {
        e = entries.next[e];
        continue;
      }
      const tall = (entries.bottom[e] - entries.top[e]) * scale;
      const isSolid = tall < SOLID_BELOW && e > 0;
      if (isSolid) {
        const row = Math.floor(entries.top[e] * scale);
        spots = row === spotRow ? spots + 1 : 0;
        spotRow = row;
      }
      if (!isSolid || spots < 12) {
        for (let i = entries.first[e]; i < entries.end[e]; i++) {
          if (isOut(i)) continue;
          if (isSolid) {
            if (placed.op[i] < 0 || entries.end[e] - entries.first[e] <= placed.spans.length) this.solid.push(i);
          } else if (placed.open[i]) this.openFrames.push(i);
          else if (placed.h[i] * scale < SOLID_BELOW) this.solid.push(i);
          else this.full.push(i);
        }
      }
      e = isSolid ? entries.next[e] : e + 1;
    }
  }

  #rect(i) {
    const { placed, detail } = this;
    const own = [placed.x[i], placed.y[i], placed.w[i], placed.h[i]];
    return detail.moved ? detail.moved(i, own) : own;
  }

  #isDim(i) {
    const { path } = this.marks;
    return path !== null && !path.has(i) && !this.marks.kin?.has(i);
  }

  #frames(context) {
    const { paints, scale } = this;
    for (const i of this.openFrames) {
      const [x, y, w, h] = this.#rect(i);
      const paint = paints(i);
      context.globalAlpha = this.#isDim(i) ? 0.5 : 1;
      context.fillStyle = paint.frame;
      context.strokeStyle = paint.line;
      context.lineWidth = Math.max(0.6, Math.min(1, 0.6 / scale));
      context.beginPath();
      context.roundRect(x, y, w, h, 6);
      context.fill();
      context.globalAlpha *= 0.55;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  #solids(context) {
    const batches = new Batches();
    const least = 0.8 / this.scale;
    for (const i of this.solid) {
      const paint = this.paints(i);
      const [x, y, w, h] = this.#rect(i);
      const isDim = this.#isDim(i);
      const look = { colour: paint.line, alpha: isDim ? 0.15 : 0.6 };
      batches.path(`${paint.line} ${isDim}`, look).rect(x, y, Math.max(w, least), Math.max(h, least));
    }
    batches.flush(context, (target, look) => {
      target.globalAlpha = look.alpha;
      target.fillStyle = look.colour;
      target.fill(look.path);
    });
    context.globalAlpha = 1;
  }

  #wires(context) {
    const { wires, placed, theme, marks, world, scale } = this;
    if (!wires) return;
    const batches = new Batches();
    const isFaded = marks.path !== null;
    const touches = new Set([marks.selected, marks.hovered].filter((i) => i >= 0));
    const strong = [];
    const arrows = scale > 0.45;
    for (const i of this.index.visible(world.top, world.bottom, scale, this.detail.budget)) {
      if (this.#isOnPath(i) || touches.has(wires.from[i]) || touches.has(wires.to[i])) continue;
      const line = wires.isCross[i] ? theme.cross : this.wireColour(placed.column[wires.from[i]]);
      const opacity = (isFaded || touches.size ? 0.3 : 1) * wires.opacity(i);
      const thickness = Math.round(wires.thickness(i) * 2) / 2;
      const look = { line, opacity, thickness, isControl: wires.isControl[i] === 1 };
      const key = `${line} ${opacity} ${thickness} ${look.isControl}`;
      this.#trace(batches, key, look, i, arrows && opacity > 0.2);
    }
    for (const i of this.strongWires()) strong.push(i);
    this.#stroke(context, batches);
    const bold = new Batches();
    for (const i of strong) {
      const onPath = this.#isOnPath(i);
      const line = onPath ? theme.glow : theme.mark;
      const look = {
        line,
        opacity: onPath ? 1 : 0.8,
        thickness: onPath ? 2.6 : 1.6,
        isControl: wires.isControl[i] === 1,
      };
      this.#trace(bold, `${line}${look.isControl}`, look, i, arrows);
    }
    this.#stroke(context, bold);
  }

  /** Wires of the selected and hovered boxes and of the path, which are drawn whatever the budget is. */
  strongWires() {
    const { wires, marks } = this;
    const key = `${marks.selected} ${marks.hovered}`;
    if (this.strongKey === key && this.strongPath === marks.path) return this.strong;
    this.strong = [];
    for (let i = 0; i < wires.count; i++) {
      const a = wires.from[i];
      const b = wires.to[i];
      const isTouched = a === marks.selected || b === marks.selected || a === marks.hovered || b === marks.hovered;
      if (isTouched || this.#isOnPath(i)) this.strong.push(i);
    }
    this.strong = this.strong.slice(0, 4000);
    this.strongKey = key;
    this.strongPath = marks.path;
    return this.strong;
  }

  #isOnPath(i) {
    const { path } = this.marks;
    return path !== null && !this.wires.isControl[i] && path.has(this.wires.from[i]) && path.has(this.wires.to[i]);
  }

  #trace(batches, key, look, i, arrow) {
    const [x, y, dx, dy] = this.wires.trace(batches.path(key, look), i);
    if (!arrow) return;
    const head = batches.path(`${key} head`, { ...look, isHead: true });
    head.moveTo(x, y);
    head.lineTo(x - 6.5 * dx - 3 * dy, y - 6.5 * dy - 3 * dx);
    head.lineTo(x - 6.5 * dx + 3 * dy, y - 6.5 * dy + 3 * dx);
    head.closePath();
  }

  #stroke(context, batches) {
    batches.flush(context, (target, look) => {
      target.globalAlpha = look.opacity;
      if (look.isHead) {
        target.fillStyle = look.line;
        target.fill(look.path);
        return;
      }
      target.strokeStyle = look.line;
      target.lineWidth = Math.max(look.thickness, 0.5 / this.scale);
      target.setLineDash(look.isControl ? [3, 3] : []);
      target.stroke(look.path);
    });
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  #closed(context) {
    const { marks, placed, theme } = this;
    for (const i of this.full) {
      const rect = this.#rect(i);
      const paint = this.paints(i);
      const isOp = placed.op[i] >= 0;
      context.globalAlpha = this.#isDim(i) ? 0.3 : 1;
      context.lineWidth = 1;
      context.strokeStyle = paint.line;
      if (!isOp) {
        context.fillStyle = paint.op;
        this.#outline(context, [rect[0] + 3, rect[1] + 3, rect[2], rect[3]], 4);
        context.fill();
        context.globalAlpha *= 0.5;
        context.stroke();
        context.globalAlpha = this.#isDim(i) ? 0.3 : 1;
      }
      context.fillStyle = isOp ? paint.op : paint.group;
      this.#outline(context, rect, isOp ? 13 : 4);
      context.fill();
      const ring = this.#ring(i);
      context.strokeStyle = ring ?? paint.line;
      context.lineWidth = ring ? 2.6 : 1;
      context.stroke();
      if (i === marks.selected) {
        context.strokeStyle = theme.mark;
        context.lineWidth = 2;
        this.#outline(context, [rect[0] - 4, rect[1] - 4, rect[2] + 8, rect[3] + 8], isOp ? 17 : 8);
        context.stroke();
      }
      if (this.detail.text) this.#boxText(context, i, rect, paint);
      context.globalAlpha = 1;
    }
  }

  #outline(context, [x, y, w, h], radius) {
    context.beginPath();
    context.roundRect(x, y, w, h, Math.min(radius, h / 2));
  }

  #ring(i) {
    const { marks, theme } = this;
    if (marks.found?.has(i)) return "#009e73";
    if (marks.kin?.has(i) || marks.path?.has(i)) return theme.glow;
    return i === marks.hovered ? theme.mark : null;
  }

  #boxText(context, i, [x, y, w, h], paint) {
    const { placer, placed, scale, theme } = this;
    const { font, widestLabel } = placer.metrics;
    if (font * scale < TEXT_FROM) return;
    const badge = placed.badge[i];
    const badgeRoom = badge ? placer.text.width(badge, font - 2.5) + 8 : 0;
    const fill = placed.op[i] >= 0 ? paint.op : paint.group;
    const isStrong = paint.isStrong === true;
    context.font = `${font}px Helvetica, Arial, sans-serif`;
    context.textAlign = "center";
    context.fillStyle = isStrong ? readableOn(fill) : theme.text;
    context.fillText(this.#label(i, widestLabel), x + (w - badgeRoom) / 2, y + h / 2 + font * 0.35);
    if (badge) {
      context.font = `${font - 2.5}px Helvetica, Arial, sans-serif`;
      context.textAlign = "right";
      context.fillStyle = isStrong ? readableOn(fill) : paint.line;
      context.fillText(badge, x + w - 8, y + h / 2 + font * 0.35 - 0.5);
    }
  }

  #label(i, room) {
    const { placer, placed, shown } = this;
    let found = this.labels.get(i);
    if (found === undefined) {
      const label =
        placed.op[i] >= 0 ? placer.model.opLabel(placed.op[i]) : placer.label(placed.group[i], placed.column[i], shown);
      found = placer.text.shorten(label, placer.metrics.font, room);
      this.labels.set(i, found);
    }
    return found;
  }

  #frameLabels(context) {
    const { placer, scale, world } = this;
    const { font, header } = placer.metrics;
    if (font * scale < TEXT_FROM - 1) return;
    context.font = `600 ${font - 1}px Helvetica, Arial, sans-serif`;
    context.textAlign = "left";
    for (const i of this.openFrames) {
      const [x, y, w, h] = this.#rect(i);
      const paint = this.paints(i);
      const isSelected = i === this.marks.selected;
      // the label stays in sight while a tall frame is scrolled through
      const top = Math.min(Math.max(y, world.top), y + h - header);
      const left = Math.min(Math.max(x, world.left), x + Math.max(0, w - 80));
      const label = this.#label(i, Math.max(w - 20, 30));
      context.strokeStyle = paint.frame;
      context.lineWidth = 4;
      context.lineJoin = "round";
      context.strokeText(label, left + 10, top + header * 0.66);
      context.fillStyle = paint.line;
      context.fillText(label, left + 10, top + header * 0.66);
      if (isSelected) {
        context.strokeStyle = this.theme.mark;
        context.lineWidth = 2 / Math.max(scale, 0.5);
        this.#outline(context, [x - 2, y - 2, w + 4, h + 4], 7);
        context.stroke();
      }
    }
  }

  #columnHeads(context) {
    const { placed, placer, theme, scale } = this;
    const size = Math.min(26, Math.max(11, 11 / scale));
    context.font = `${size}px Helvetica, Arial, sans-serif`;
    context.textAlign = "center";
    context.fillStyle = theme.faint;
    placed.spans.forEach(([left, right], k) => {
      const name = placer.model.columns[k].toUpperCase();
      if (right > left && placer.text.width(name, size) * 0.8 < right - left + placer.metrics.columnGap) {
        context.fillText(name, (left + right) / 2, -size);
      }
    });
  }
}
