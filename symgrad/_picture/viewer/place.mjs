// Coordinates from the plan, the open groups and the shown ops: the same small step as `_place.py`, over flat arrays.

import { KINDS } from "./model.mjs";
import { withCommas } from "./text.mjs";

/** Which ops the filters show, with the counts of every group that follow from them. */
export class Shown {
  /**
   * @param {Model} model
   * @param {Set<string>} asides which of "constant", "initializer", "dead" to show
   */
  constructor(model, asides) {
    const columns = model.columns.length;
    const wanted = model.data.asides.map((aside) => aside === "" || asides.has(aside));
    this.op = new Uint8Array(model.opCount);
    this.counts = new Int32Array(model.groupCount * columns);
    this.any = new Uint8Array(model.groupCount);
    for (let i = 0; i < model.opCount; i++) {
      if (!wanted[model.data.ops.aside[i]]) continue;
      this.op[i] = 1;
      this.counts[model.opGroup[i] * columns + model.column[i]] += 1;
    }
    for (let at = model.groupCount - 1; at >= 0; at--) {
      const own = at * columns;
      const around = model.parent[at] * columns;
      for (let k = 0; k < columns; k++) {
        if (!this.counts[own + k]) continue;
        this.any[at] = 1;
        if (at) this.counts[around + k] += this.counts[own + k];
      }
    }
    this.any[0] = 1;
    this.#single(model, columns);
    this.#standIns(model);
  }

  /** The one op of a cell in a column, -1 where there are none or several. */
  #single(model, columns) {
    this.single = new Int32Array(model.groupCount * columns).fill(-1);
    for (let i = 0; i < model.opCount; i++) {
      const at = model.opGroup[i] * columns + model.column[i];
      if (this.op[i] && this.counts[at] === 1 && model.kind[model.opGroup[i]] === KINDS.cell) this.single[at] = i;
    }
  }

  /** A scope in which the filters leave nothing but the op it is named after stands aside for that op's cell. */
  #standIns(model) {
    this.insteadOf = Int32Array.from({ length: model.groupCount }, (_, i) => i);
    for (let at = model.groupCount - 1; at > 0; at--) {
      if (model.kind[at] !== KINDS.scope || !this.any[at]) continue;
      let only = -1;
      let count = 0;
      for (const row of model.rows[at]) {
        for (const child of row) {
          if (!this.any[child]) continue;
          count += 1;
          only = child;
        }
      }
      if (count === 1 && model.kind[only] === KINDS.cell && model.groupName(only) === model.groupName(at)) {
        this.insteadOf[at] = only;
      }
    }
  }
}

/** Rectangles as parallel arrays; `entries` are the visible groups in the order of the boxes, for quick culling. */
export class Placed {
  constructor() {
    this.group = [];
    this.column = [];
    this.op = [];
    this.open = [];
    this.x = [];
    this.y = [];
    this.w = [];
    this.h = [];
    this.badge = [];
    this.entries = { group: [], first: [], end: [], next: [], top: [], bottom: [] };
    this.spans = [];
    this.width = 0;
    this.height = 0;
  }

  get count() {
    return this.x.length;
  }

  add(group, column, op, open, rect, badge) {
    this.group.push(group);
    this.column.push(column);
    this.op.push(op);
    this.open.push(open);
    this.x.push(rect[0]);
    this.y.push(rect[1]);
    this.w.push(rect[2]);
    this.h.push(rect[3]);
    this.badge.push(badge);
  }
}

/** -1 where a column mirrors the order within its rows, so that a gradient is its forward half reflected. */
export function columnOrder(column, columns) {
  return column % 2 === 1 && column < columns - 1 ? -1 : 1;
}

export class Placer {
  constructor(model, text) {
    this.model = model;
    this.metrics = model.data.metrics;
    this.text = text;
    this.labelWidths = new Map();
    this.opWidths = new Float64Array(model.opCount);
  }

  /** What is written on the part of a group that lies in one column. */
  label(group, column, shown) {
    const { model } = this;
    const columns = model.columns.length;
    if (!shown.counts[group * columns + column]) return "";
    const single = shown.single[group * columns + column];
    if (single >= 0) return model.opLabel(single);
    return model.groupLabel[group];
  }

  #cellRows(group, column, shown) {
    const rows = [];
    for (const row of this.model.cells[group][column]) {
      const kept = row.filter((op) => shown.op[op]);
      if (kept.length) rows.push(kept);
    }
    return rows;
  }

  #rows(group, shown) {
    const rows = [];
    for (const row of this.model.rows[group]) {
      const kept = row.filter((child) => shown.any[child]);
      if (kept.length) rows.push(kept.map((child) => shown.insteadOf[child]));
    }
    return rows;
  }

  #labelWidth(label, badge) {
    const key = `${label}\n${badge}`;
    let found = this.labelWidths.get(key);
    if (found === undefined) {
      const { font, widestLabel, narrowest } = this.metrics;
      const text = this.text.shorten(label, font, widestLabel);
      const room = badge ? this.text.width(badge, font - 2.5) + 8 : 0;
      found = Math.max(narrowest, this.text.width(text, font) + 20 + room);
      this.labelWidths.set(key, found);
    }
    return found;
  }

  #opWidth(op) {
    this.opWidths[op] ||= this.#labelWidth(this.model.opLabel(op), "");
    return this.opWidths[op];
  }

  badge(group, column, shown) {
    const count = shown.counts[group * this.model.columns.length + column];
    return count > 1 && group !== 0 ? withCommas(count) : "";
  }

  /**
   * @param {Uint8Array} opened 1 for each open group; a group shows only if all around it are open
   * @param {Shown} shown
   * @returns {Placed}
   */
  place(opened, shown) {
    const { model, metrics } = this;
    const columns = model.columns.length;
    const sizes = this.#sizes(opened, shown);
    const placed = new Placed();
    const starts = [];
    let x = 0;
    for (let k = 0; k < columns; k++) {
      const w = sizes.widths[k];
      starts.push(x);
      placed.spans.push([x, x + w]);
      if (w) placed.width = x + w;
      x += w + (w ? metrics.columnGap : 0);
    }
    placed.height = sizes.heights[0];
    this.#boxes(placed, sizes, starts, { opened, shown });
    return placed;
  }

  /** Widths for each column and height of every visible group, children before their parent. */
  #sizes(opened, shown) {
    const { model } = this;
    const columns = model.columns.length;
    const sizes = {
      widths: new Float64Array(model.groupCount * columns),
      heights: new Float64Array(model.groupCount),
      rows: new Map(),
    };
    const order = [];
    const stack = [0];
    while (stack.length) {
      const at = stack.pop();
      order.push(at);
      if (at && !opened[at]) continue;
      const rows = this.#rows(at, shown);
      sizes.rows.set(at, rows);
      for (const row of rows) for (const child of row) stack.push(child);
    }
    for (let i = order.length - 1; i >= 0; i--) this.#size(order[i], sizes, opened, shown);
    return sizes;
  }

  #size(at, sizes, opened, shown) {
    const { model, metrics } = this;
    const columns = model.columns.length;
    const base = at * columns;
    const { widths, heights } = sizes;
    for (let k = 0; k < columns; k++) {
      if (shown.single[base + k] >= 0) widths[base + k] = this.#opWidth(shown.single[base + k]);
      else if (at && shown.counts[base + k]) {
        widths[base + k] = this.#labelWidth(this.label(at, k, shown), this.badge(at, k, shown));
      }
    }
    heights[at] = metrics.height;
    if (at && !opened[at]) return;
    if (model.kind[at] === KINDS.cell) {
      this.#sizeCell(at, sizes, shown);
      return;
    }
    let height = at ? metrics.header : 0;
    for (const row of sizes.rows.get(at)) {
      let tall = 0;
      for (const child of row) tall = Math.max(tall, heights[child]);
      for (let k = 0; k < columns; k++) {
        const total = this.#rowWidth(row, k, widths);
        if (total > 0) widths[base + k] = Math.max(widths[base + k], total + (at ? 2 * metrics.padding : 0));
      }
      height += tall + metrics.gapY;
    }
    heights[at] = height - (at ? metrics.gapY - metrics.padding : metrics.gapY);
  }

  #rowWidth(row, column, widths) {
    const columns = this.model.columns.length;
    let total = 0;
    let count = 0;
    for (const child of row) {
      const w = widths[child * columns + column];
      total += w;
      if (w) count += 1;
    }
    return count ? total + this.metrics.gapX * (count - 1) : 0;
  }

  /** An open cell: the ops of its columns row by row, in a frame where there is more than one. */
  #sizeCell(at, sizes, shown) {
    const { model, metrics } = this;
    const columns = model.columns.length;
    for (let k = 0; k < columns; k++) {
      const count = shown.counts[at * columns + k];
      if (!count) continue;
      if (count === 1) continue;
      const label = this.#labelWidth(this.label(at, k, shown), "");
      const rows = this.#cellRows(at, k, shown);
      let inner = 0;
      for (const row of rows) inner = Math.max(inner, this.#opsWidth(row));
      sizes.widths[at * columns + k] = Math.max(label, inner + 2 * metrics.padding);
      sizes.heights[at] = Math.max(sizes.heights[at], this.#cellHeight(rows));
    }
  }

  #opsWidth(row) {
    let total = this.metrics.gapX * (row.length - 1);
    for (const op of row) total += this.#opWidth(op);
    return total;
  }

  #cellHeight(rows) {
    const { header, height, gapY, padding } = this.metrics;
    return header + rows.length * (height + gapY) - gapY + padding;
  }

  #boxes(placed, sizes, starts, state) {
    const { entries } = placed;
    const stack = [{ at: 0, xs: starts, y: 0, entry: -1 }];
    const open = []; // entries whose content is not finished, outermost first
    while (stack.length) {
      const { at, xs, y, depth = 0 } = stack.pop();
      while (open.length > depth) this.#finish(placed, open.pop());
      const entry = entries.group.length;
      entries.group.push(at);
      entries.first.push(placed.count);
      entries.top.push(y);
      entries.bottom.push(y + sizes.heights[at]);
      if (at) this.#ownBoxes(placed, at, { xs, y, sizes }, state);
      entries.end.push(placed.count);
      entries.next.push(entry + 1);
      open.push(entry);
      if ((at && !state.opened[at]) || this.model.kind[at] === KINDS.cell) continue;
      const children = this.#children(at, xs, y, sizes);
      for (let i = children.length - 1; i >= 0; i--) stack.push({ ...children[i], depth: depth + 1 });
    }
    while (open.length) this.#finish(placed, open.pop());
  }

  #finish(placed, entry) {
    placed.entries.next[entry] = placed.entries.group.length;
  }

  #ownBoxes(placed, at, { xs, y, sizes }, { opened, shown }) {
    const { model, metrics } = this;
    const columns = model.columns.length;
    const isCell = model.kind[at] === KINDS.cell;
    for (let k = 0; k < columns; k++) {
      const w = sizes.widths[at * columns + k];
      if (!w) continue;
      const op = shown.single[at * columns + k];
      if (op >= 0) {
        placed.add(at, k, op, 0, [xs[k], y + (sizes.heights[at] - metrics.height) / 2, w, metrics.height], "");
        continue;
      }
      placed.add(at, k, -1, opened[at] ? 1 : 0, [xs[k], y, w, sizes.heights[at]], this.badge(at, k, shown));
      if (opened[at] && isCell) this.#cellBoxes(placed, at, k, { x: xs[k], y, w, h: sizes.heights[at], shown });
    }
  }

  #cellBoxes(placed, at, k, { x, y, w, h, shown }) {
    const { metrics } = this;
    const rows = this.#cellRows(at, k, shown);
    const mirrored = columnOrder(k, this.model.columns.length) < 0;
    let top = y + metrics.header + (h - this.#cellHeight(rows)) / 2;
    for (const row of rows) {
      let left = x + (w - this.#opsWidth(row)) / 2;
      for (const op of mirrored ? [...row].reverse() : row) {
        const own = this.#opWidth(op);
        placed.add(at, k, op, 0, [left, top, own, metrics.height], "");
        left += own + metrics.gapX;
      }
      top += metrics.height + metrics.gapY;
    }
  }

  /** Where each child of an open group goes: rows from the top, every column centred and in its own order. */
  #children(at, xs, top, sizes) {
    const { metrics } = this;
    const columns = this.model.columns.length;
    const found = [];
    let y = top + (at ? metrics.header : 0);
    for (const row of sizes.rows.get(at)) {
      let tall = 0;
      for (const child of row) tall = Math.max(tall, sizes.heights[child]);
      const lefts = row.map(() => xs.slice());
      for (let k = 0; k < columns; k++) {
        let left = xs[k] + (sizes.widths[at * columns + k] - this.#rowWidth(row, k, sizes.widths)) / 2;
        const mirrored = columnOrder(k, columns) < 0;
        for (let i = 0; i < row.length; i++) {
          const n = mirrored ? row.length - 1 - i : i;
          const w = sizes.widths[row[n] * columns + k];
          if (!w) continue;
          lefts[n][k] = left;
          left += w + metrics.gapX;
        }
      }
      for (let i = 0; i < row.length; i++) {
        found.push({ at: row[i], xs: lefts[i], y: y + (tall - sizes.heights[row[i]]) / 2 });
      }
      y += tall + metrics.gapY;
    }
    return found;
  }
}
