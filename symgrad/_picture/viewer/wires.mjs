// Lines: edges between ops gathered into edges between visible boxes, and a path for each; the same as `_route.py`.

const CAREFUL = 1500; // beyond this many boxes lines go straight, as in `_route.py`

/** For each op the box that shows it: its own, or the closed group in its column; -1 if there is none. */
export function showing(model, placed, shown) {
  const columns = model.columns.length;
  const own = new Int32Array(model.opCount).fill(-1);
  const closed = new Int32Array(model.groupCount * columns).fill(-1);
  const open = new Uint8Array(model.groupCount);
  open[0] = 1;
  for (let i = 0; i < placed.count; i++) {
    if (placed.op[i] >= 0) own[placed.op[i]] = i;
    else if (placed.open[i]) open[placed.group[i]] = 1;
    else closed[placed.group[i] * columns + placed.column[i]] = i;
  }
  for (let at = 1; at < model.groupCount; at++) if (shown.insteadOf[at] !== at) open[at] = 1;
  const seenIn = new Int32Array(model.groupCount); // the outermost closed group around a group, or itself
  for (let at = 1; at < model.groupCount; at++) {
    const around = seenIn[model.parent[at]];
    seenIn[at] = model.parent[at] === 0 || (around === model.parent[at] && open[around]) ? at : around;
  }
  const found = new Int32Array(model.opCount).fill(-1);
  for (let i = 0; i < model.opCount; i++) {
    if (!shown.op[i]) continue;
    found[i] = own[i] >= 0 ? own[i] : closed[seenIn[model.opGroup[i]] * columns + model.column[i]];
  }
  return found;
}

/** Lines between boxes as parallel arrays, before they have a path. */
function bundles(model, seen, boxes, { allControl }) {
  const known = new Map();
  const made = { from: [], to: [], count: [], isControl: [] };
  for (let e = 0; e < model.source.length; e++) {
    const a = seen[model.source[e]];
    const b = seen[model.target[e]];
    if (a === b || a < 0 || b < 0 || (isPlain(model, e) && !(model.isControl[e] && allControl))) continue;
    const key = a * boxes + b;
    const at = known.get(key);
    if (at === undefined) {
      known.set(key, made.from.length);
      made.from.push(a);
      made.to.push(b);
      made.count.push(1);
      made.isControl.push(model.isControl[e]);
    } else {
      made.count[at] += 1;
      if (!model.isControl[e]) made.isControl[at] = 0;
    }
  }
  return made;
}

/**
 * True for an edge that a line would not make clearer: from a variable to its own update, which stands in the same row;
 * and a control dependency of an op that computes, for only what groups and orders others is drawn with what it waits for.
 */
function isPlain(model, e) {
  const isOfVariable = model.role(model.source[e]) === "variable";
  const role = model.role(model.target[e]);
  if (model.isControl[e]) return (role !== "update" && role !== "control") || isOfVariable;
  return isOfVariable && role === "update" && model.opGroup[model.source[e]] === model.opGroup[model.target[e]];
}

/** How a line goes: out of the sides of its boxes, over the boxes of its row, or from row to row. */
export const WAYS = { sideways: 0, over: 1, upright: 2 };

/** Lines from one box, or to one, share a lane; others keep their distance. */
function isFree(taken, lane, line) {
  let [same, source, target] = [true, true, true];
  for (const other of taken) {
    if (Math.abs(other.x - lane) >= 5 || other.top >= line.bottom || other.bottom <= line.top) continue;
    same &&= other.x === lane;
    source &&= other.source === line.source;
    target &&= other.target === line.target;
  }
  return same && (source || target);
}

/** The point where the rounding of a corner begins: 7 pixels away, or half the way. */
function towards(corner, other) {
  const [dx, dy] = [other[0] - corner[0], other[1] - corner[1]];
  const length = Math.abs(dx) + Math.abs(dy);
  const share = length ? Math.min(7, length / 2) / length : 0;
  return [corner[0] + dx * share, corner[1] + dy * share];
}

export class Wires {
  /**
   * @param {{allControl: boolean}} options draw every control dependency, also those that explain little
   */
  constructor(model, placed, shown, options) {
    this.placed = placed;
    this.seen = showing(model, placed, shown);
    const made = bundles(model, this.seen, placed.count, options);
    this.from = Uint32Array.from(made.from);
    this.to = Uint32Array.from(made.to);
    this.bundle = Uint32Array.from(made.count);
    this.isControl = Uint8Array.from(made.isControl);
    this.count = this.from.length;
    this.isCross = new Uint8Array(this.count);
    this.startX = new Float64Array(this.count);
    this.endX = new Float64Array(this.count);
    this.lane = new Float64Array(this.count).fill(Number.NaN);
    this.span = new Float64Array(this.count);
    this.#ports();
    this.way = Uint8Array.from(this.from, (_, i) =>
      this.isCross[i] || this.#isBeside(i) ? WAYS.sideways : WAYS.upright,
    );
    this.#lanes();
  }

  #centre(box) {
    return this.placed.x[box] + this.placed.w[box] / 2;
  }

  /** Where on the edge of its boxes each line starts and ends: spread by where the other end lies. */
  #ports() {
    const { placed, from, to } = this;
    const leaving = new Map();
    const entering = new Map();
    for (let i = 0; i < this.count; i++) {
      const a = from[i];
      const b = to[i];
      this.isCross[i] = placed.column[a] === placed.column[b] ? 0 : 1;
      this.span[i] = Math.abs(placed.y[a] + placed.h[a] / 2 - placed.y[b] - placed.h[b] / 2);
      this.startX[i] = this.#centre(a);
      this.endX[i] = this.#centre(b);
      if (this.isCross[i]) continue;
      if (!leaving.has(a)) leaving.set(a, []);
      if (!entering.has(b)) entering.set(b, []);
      leaving.get(a).push(i);
      entering.get(b).push(i);
    }
    for (const [at, lines] of leaving) this.#spread(at, lines, to, this.startX);
    for (const [at, lines] of entering) this.#spread(at, lines, from, this.endX);
  }

  #spread(box, lines, others, ends) {
    if (lines.length === 1) return;
    const { from, to } = this;
    const room = Math.min(this.placed.w[box] - 24, 14 * (lines.length - 1));
    lines.sort((p, q) => this.#centre(others[p]) - this.#centre(others[q]) || from[p] - from[q] || to[p] - to[q]);
    lines.forEach((line, i) => {
      ends[line] = this.#centre(box) + room * (i / (lines.length - 1) - 0.5);
    });
  }

  /** Whether its boxes stand beside each other. */
  #isBeside(i) {
    const { placed } = this;
    const a = this.from[i];
    const b = this.to[i];
    return Math.min(placed.y[a] + placed.h[a], placed.y[b] + placed.h[b]) > Math.max(placed.y[a], placed.y[b]);
  }

  /** The vertical ends of an upright line. */
  ends(i) {
    const { placed } = this;
    const a = this.from[i];
    const b = this.to[i];
    const down = placed.y[b] > placed.y[a];
    return down ? [placed.y[a] + placed.h[a], placed.y[b]] : [placed.y[a], placed.y[b] + placed.h[b]];
  }

  /** Lanes around the boxes that stand in a line's way, shortest lines first. */
  #lanes() {
    const { placed } = this;
    if (placed.count > CAREFUL) return;
    const taken = [];
    const listed = placed.spans.map(() => []);
    const frames = placed.spans.map(() => []);
    for (let i = 0; i < placed.count; i++) (placed.open[i] ? frames : listed)[placed.column[i]].push(i);
    const order = Array.from({ length: this.count }, (_, i) => i);
    const rise = (i) => Math.abs(placed.y[this.from[i]] - placed.y[this.to[i]]);
    order.sort((p, q) => rise(p) - rise(q) || this.from[p] - this.from[q] || this.to[p] - this.to[q]);
    for (const i of order) {
      if (this.way[i] === WAYS.upright) this.lane[i] = this.#around(i, { listed, frames, taken });
      else if (!this.isCross[i] && this.#isApart(i, listed)) this.way[i] = WAYS.over;
    }
  }

  /** True where a box of their row lies between two boxes of one column. */
  #isApart(i, listed) {
    const { placed } = this;
    const [a, b] = [this.from[i], this.to[i]];
    const [left, right] = placed.x[a] < placed.x[b] ? [a, b] : [b, a];
    const end = placed.x[left] + placed.w[left];
    const top = Math.max(placed.y[a], placed.y[b]);
    const bottom = Math.min(placed.y[a] + placed.h[a], placed.y[b] + placed.h[b]);
    return listed[placed.column[a]].some(
      (box) =>
        end <= placed.x[box] &&
        placed.x[box] < placed.x[right] &&
        placed.y[box] + placed.h[box] > top &&
        placed.y[box] <= bottom,
    );
  }

  #around(i, { listed, frames, taken }) {
    const { placed } = this;
    const a = this.from[i];
    const b = this.to[i];
    const column = placed.column[a];
    const [one, two] = this.ends(i);
    const [top, bottom] = [Math.min(one, two), Math.max(one, two)];
    const [left, right] = [Math.min(this.startX[i], this.endX[i]), Math.max(this.startX[i], this.endX[i])];
    const isBeside = (box) => placed.y[box] + placed.h[box] > top && placed.y[box] < bottom;
    const between = listed[column].filter((box) => isBeside(box) && box !== a && box !== b);
    const blocking = between.filter((box) => placed.x[box] < right + 4 && placed.x[box] + placed.w[box] > left - 4);
    if (!blocking.length) return Number.NaN;
    const walls = frames[column].filter((box) => isBeside(box) && !this.#holds(box, a) && !this.#holds(box, b));
    return this.#outwards(blocking, [...between, ...walls], { column, top, bottom, a, b, taken });
  }

  #holds(frame, box) {
    const { x, y, w, h } = this.placed;
    const inside = x[frame] <= x[box] && x[box] + w[box] <= x[frame] + w[frame];
    return inside && y[frame] <= y[box] && y[box] + h[box] <= y[frame] + h[frame];
  }

  /**
   * The first free lane beyond what is in the way, to the left in the forward column and mirrored in all others. One
   * that leads from the same box or to it already comes first, if it is free all the way.
   */
  #outwards(blocking, walls, { column, top, bottom, a, b, taken }) {
    const { x, y, w } = this.placed;
    const sign = column === 0 ? 1 : -1;
    const near = (box) => (column === 0 ? x[box] : -x[box] - w[box]);
    const spans = walls.map((box) => [near(box), near(box) + w[box]]);
    const edge = Math.min(...blocking.map(near)) - 12;
    const down = y[b] > y[a];
    const line = { top, bottom, source: down ? a : -1 - a, target: down ? b : -1 - b };
    const isWalled = (lane) => spans.some(([from, to]) => from - 6 < lane && lane < to + 6);
    const known = new Set();
    for (const other of taken) {
      if ((other.source === line.source || other.target === line.target) && sign * other.x <= edge) {
        known.add(sign * other.x);
      }
    }
    let lane = [...known].sort((p, q) => q - p).find((at) => !isWalled(at) && isFree(taken, sign * at, line));
    if (lane === undefined) {
      lane = edge;
      for (;;) {
        let beyond = Number.POSITIVE_INFINITY;
        for (const [from, to] of spans) if (from - 6 < lane && lane < to + 6) beyond = Math.min(beyond, from);
        if (beyond < Number.POSITIVE_INFINITY) lane = beyond - 12;
        else if (!isFree(taken, sign * lane, line)) lane -= 6;
        else break;
      }
    }
    taken.push({ ...line, x: sign * lane });
    return sign * lane;
  }

  /** How far to the left and to the right boxes and lines around them reach. */
  reach() {
    let [left, right] = [0, this.placed.width];
    for (const lane of this.lane) {
      if (lane < left) left = lane;
      else if (lane > right) right = lane;
    }
    return [left, right];
  }

  thickness(i) {
    return Math.min(3, 1 + 0.7 * Math.log10(this.bundle[i]));
  }

  opacity(i) {
    if (this.isControl[i]) return 0.35;
    if (this.way[i] === WAYS.over) return 0.6;
    if (this.way[i] === WAYS.sideways) return this.span[i] < 160 ? 0.75 : 0.4;
    return this.span[i] < 260 ? 0.85 : 0.6;
  }

  /** Adds a line to a path; the direction in which it arrives, for the arrow head. */
  trace(path, i) {
    const { placed } = this;
    const a = this.from[i];
    const b = this.to[i];
    if (this.way[i] === WAYS.sideways) return this.#sideways(path, a, b);
    if (this.way[i] === WAYS.over) return this.#over(path, i, a, b);
    if (!Number.isNaN(this.lane[i])) return this.#laned(path, i, a, b);
    const [y1, y2] = this.ends(i);
    const sign = placed.y[b] > placed.y[a] ? 1 : -1;
    const bend = Math.max(12, Math.abs(y2 - y1) * 0.45) * sign;
    path.moveTo(this.startX[i], y1);
    path.bezierCurveTo(this.startX[i], y1 + bend, this.endX[i], y2 - bend, this.endX[i], y2);
    return [this.endX[i], y2, 0, sign];
  }

  #sideways(path, a, b) {
    const { placed } = this;
    const right = this.#centre(b) >= this.#centre(a);
    const x1 = right ? placed.x[a] + placed.w[a] : placed.x[a];
    const x2 = right ? placed.x[b] : placed.x[b] + placed.w[b];
    const y1 = placed.y[a] + placed.h[a] / 2;
    const y2 = placed.y[b] + placed.h[b] / 2;
    const sign = right ? 1 : -1;
    const bend = Math.max(24, Math.abs(x2 - x1) * 0.4) * sign;
    path.moveTo(x1, y1);
    path.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    return [x2, y2, sign, 0];
  }

  /** Within a row, over the boxes in between. */
  #over(path, i, a, b) {
    const { placed } = this;
    const [x1, x2] = [this.startX[i], this.endX[i]];
    const rise = Math.min(placed.y[a], placed.y[b]) - 12 - Math.min(10, Math.abs(x2 - x1) / 60);
    path.moveTo(x1, placed.y[a]);
    path.bezierCurveTo(x1, rise, x2, rise, x2, placed.y[b]);
    return [x2, placed.y[b], 0, 1];
  }

  /** Around what is in the way: right angles with rounded corners. */
  #laned(path, i, a, b) {
    const { placed } = this;
    const way = this.lane[i];
    const [x1, x2] = [this.startX[i], this.endX[i]];
    const [y1, y2] = this.ends(i);
    const sign = placed.y[b] > placed.y[a] ? 1 : -1;
    const step = 11 * sign;
    const corners = [
      [x1, y1],
      [x1, y1 + step],
      [way, y1 + step],
      [way, y2 - step],
      [x2, y2 - step],
      [x2, y2],
    ];
    path.moveTo(x1, y1);
    for (let k = 1; k < corners.length - 1; k++) {
      path.lineTo(...towards(corners[k], corners[k - 1]));
      path.quadraticCurveTo(...corners[k], ...towards(corners[k], corners[k + 1]));
    }
    path.lineTo(x2, y2);
    return [x2, y2, 0, sign];
  }
}
