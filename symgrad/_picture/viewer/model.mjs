// The graph of the page: the inlined data unpacked into flat arrays, and the questions that need nothing else.

/** Neighbours of every op as one flat array with offsets. */
function adjacency(count, from, to, skip) {
  const start = new Uint32Array(count + 1);
  for (let e = 0; e < from.length; e++) if (!skip?.[e]) start[from[e] + 1] += 1;
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const list = new Uint32Array(start[count]);
  const next = start.slice();
  for (let e = 0; e < from.length; e++) if (!skip?.[e]) list[next[from[e]]++] = to[e];
  return { of: (i) => list.subarray(start[i], start[i + 1]) };
}

/** Later answers of a function without arguments are its first one. */
function once(make) {
  let value;
  return () => {
    value ??= make();
    return value;
  };
}

/** Rows of the ops of one cell in one column: -1 for none, a number for a single op. */
function cellRows(packed) {
  if (packed === undefined || packed === -1) return [];
  return typeof packed === "number" ? [[packed]] : packed;
}

/** Unpacks what `_pack.py` wrote; see there for the format. */
export class Model {
  constructor(data) {
    this.data = data;
    this.columns = data.columns;
    const { groups, ops, edges } = data;
    this.groupCount = groups.label.length;
    this.opCount = ops.group.length;
    this.parent = Int32Array.from(groups.parent);
    this.kind = groups.kind;
    this.groupRole = groups.role;
    this.groupLabel = groups.label;
    this.rows = groups.rows.map((rows) => rows || []);
    this.cells = groups.cells.map((cell) => {
      if (cell === 0) return null;
      const packed = typeof cell === "number" ? [cell - 1] : cell;
      return this.columns.map((_, k) => cellRows(packed[k]));
    });
    this.opGroup = Int32Array.from(ops.group);
    this.column = Uint8Array.from(ops.column);
    this.pair = Int32Array.from(ops.pair);
    this.source = new Int32Array(edges.target.length);
    this.target = Int32Array.from(edges.target);
    for (let e = 0; e < this.source.length; e++) this.source[e] = edges.target[e] - edges.back[e];
    this.isControl = new Uint8Array(this.source.length);
    for (const e of edges.control) this.isControl[e] = 1;
    this.consumers = once(() => adjacency(this.opCount, this.source, this.target));
    this.inputs = once(() => adjacency(this.opCount, this.target, this.source));
    this.dataConsumers = once(() => adjacency(this.opCount, this.source, this.target, this.isControl));
    this.dataInputs = once(() => adjacency(this.opCount, this.target, this.source, this.isControl));
    this.names = once(() => Array.from({ length: this.opCount }, (_, i) => this.#name(i)));
    this.positions = once(() => new Map(this.names().map((name, i) => [name, i])));
    this.gradients = once(() => this.#gradients());
  }

  groupName(at) {
    return this.data.groups.name[at] || this.#derivedName(at);
  }

  #derivedName(at) {
    let around = this.parent[at];
    while (around > 0 && this.kind[around] === KINDS.series) around = this.parent[around];
    return around > 0 ? `${this.groupName(around)}/${this.groupLabel[at]}` : this.groupLabel[at];
  }

  #name(op) {
    const { last, scope } = this.data.ops;
    if (last[op] === 0) return this.groupName(this.opGroup[op]);
    const around = this.data.scopes[scope[op]];
    return around ? `${around}/${last[op]}` : last[op];
  }

  opLabel(op) {
    const last = this.data.ops.last[op];
    return last === 0 ? this.groupLabel[this.opGroup[op]] : last;
  }

  type(op) {
    return this.data.types[this.data.ops.type[op]];
  }

  role(op) {
    return this.data.roles[this.data.ops.role[op]];
  }

  /** Why a picture leaves an op out unless asked: "constant", "initializer", "dead"; "" for the rest. */
  aside(op) {
    return this.data.asides[this.data.ops.aside[op]];
  }

  /** "float32 [?, 8]" for each output. */
  outputs(op) {
    return this.data.outputs[this.data.ops.outputs[op]];
  }

  dtype(op) {
    return this.outputs(op)[0]?.split(" ")[0] ?? "none";
  }

  device(op) {
    return this.data.devices[this.data.ops.device[op]] || "not set";
  }

  /** Lines "key = value". */
  attributes(op) {
    return this.data.attributes[this.data.ops.attributes[op]] ?? [];
  }

  /** File and line of the code that made it, "" where it is not known. */
  where(op) {
    return this.data.wheres[this.data.ops.where[op]] ?? "";
  }

  #gradients() {
    const listed = new Map();
    for (let i = 0; i < this.opCount; i++) {
      if (this.pair[i] >= 0) {
        if (!listed.has(this.pair[i])) listed.set(this.pair[i], []);
        listed.get(this.pair[i]).push(i);
      }
    }
    return listed;
  }

  /** Ops that belong to `op`: its gradient, the gradient of that, and what it is itself the gradient of. */
  kin(op) {
    const found = new Set([op]);
    for (let at = this.pair[op]; at >= 0 && !found.has(at); at = this.pair[at]) found.add(at);
    const stack = [op];
    while (stack.length) {
      for (const other of this.gradients().get(stack.pop()) ?? []) {
        if (!found.has(other)) {
          found.add(other);
          stack.push(other);
        }
      }
    }
    return found;
  }

  /** Ops on data paths from one op to another, ends included; empty where there is no path. */
  between(from, to) {
    const down = this.#reach(from, this.dataConsumers());
    if (!down[to]) return new Set();
    const up = this.#reach(to, this.dataInputs());
    const found = new Set();
    for (let i = 0; i < this.opCount; i++) if (down[i] && up[i]) found.add(i);
    return found;
  }

  #reach(start, neighbours) {
    const seen = new Uint8Array(this.opCount);
    seen[start] = 1;
    const stack = [start];
    while (stack.length) {
      for (const other of neighbours.of(stack.pop())) {
        if (!seen[other]) {
          seen[other] = 1;
          stack.push(other);
        }
      }
    }
    return seen;
  }

  /** The group itself and all around it but the root, innermost first. */
  around(group) {
    const found = [];
    for (let at = group; at > 0; at = this.parent[at]) found.push(at);
    return found;
  }

  /** Every op of the group in that column, or in any where `column` is -1. */
  opsIn(group, column) {
    const inside = new Uint8Array(this.groupCount);
    inside[group] = 1;
    for (let i = group + 1; i < this.groupCount; i++) if (inside[this.parent[i]]) inside[i] = 1;
    const found = [];
    for (let i = 0; i < this.opCount; i++) {
      if (inside[this.opGroup[i]] && (column < 0 || this.column[i] === column)) found.push(i);
    }
    return found;
  }

  /** Ops whose name contains the text or whose type is it, the best matches first. */
  search(text, limit) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return { found: [], count: 0 };
    const ranked = [[], [], [], []];
    const names = this.names();
    let count = 0;
    for (let i = 0; i < this.opCount; i++) {
      const name = names[i].toLowerCase();
      const isType = this.type(i).toLowerCase() === wanted;
      if (!isType && !name.includes(wanted)) continue;
      count += 1;
      const rank = name === wanted ? 0 : name.endsWith(`/${wanted}`) ? 1 : isType ? 2 : 3;
      if (ranked[rank].length < limit) ranked[rank].push(i);
    }
    return { found: ranked.flat().slice(0, limit), count };
  }
}

export const KINDS = { root: 0, scope: 1, series: 2, cell: 3 };
