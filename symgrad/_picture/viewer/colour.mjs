// What colours mean: by role, op type, dtype, device, or any measured number. Okabe and Ito's palette throughout, and
// cividis for numbers, so that people with colour-blindness can tell them apart.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b0a000"];
const OTHER = "#999999";

export const THEMES = {
  light: {
    background: "#ffffff",
    text: "#1d2127",
    faint: "#6d747e",
    cross: "#b9b3c4",
    mark: "#111111",
    glow: "#cc79a7",
  },
  dark: {
    background: "#15181d",
    text: "#e8eaee",
    faint: "#8b93a0",
    cross: "#5f5a6d",
    mark: "#ffffff",
    glow: "#f0a8d0",
  },
};

function channels(colour) {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** `share` of the first colour in the second. */
export function mix(one, two, share) {
  const [a, b] = [channels(one), channels(two)];
  const part = (k) => Math.round(a[k] * share + b[k] * (1 - share));
  return `#${[0, 1, 2].map((k) => part(k).toString(16).padStart(2, "0")).join("")}`;
}

/** The colour at `share` (0 to 1) of the ramp for numbers. */
export function rampColour(ramp, share) {
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  return mix(ramp[low + 1], ramp[low], at - low);
}

/** Fill of an op, fill of a closed group, line and background of an open group, in a theme. */
function paintOf(line, theme, strength) {
  const isDark = theme === THEMES.dark;
  const stroke = isDark ? mix(line, "#ffffff", 0.72) : line;
  return {
    op: mix(line, theme.background, (isDark ? 0.22 : 0.085) * strength),
    group: mix(line, theme.background, (isDark ? 0.36 : 0.18) * strength),
    frame: mix(line, theme.background, isDark ? 0.1 : 0.045),
    line: stroke,
  };
}

/** One category for each op, the seven most frequent by name and the rest as "other". */
function categories(model, categoryOf) {
  const counts = new Map();
  const values = Array.from({ length: model.opCount }, (_, i) => categoryOf(i));
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const named = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, PALETTE.length);
  const index = new Map(named.map(([value], i) => [value, i]));
  const isMore = counts.size > named.length;
  const legend = named.map(([value, count], i) => ({ label: value, count, line: PALETTE[i] }));
  if (isMore) {
    const rest = model.opCount - named.reduce((sum, [, count]) => sum + count, 0);
    legend.push({ label: `other (${counts.size - named.length} more)`, count: rest, line: OTHER });
  }
  return { of: values.map((value) => index.get(value) ?? PALETTE.length), legend };
}

/** Colours by which of a few categories an op is; a group has that of most of its ops. */
class ByCategory {
  constructor(model, { of, legend }, strength) {
    this.model = model;
    this.of = of;
    this.legend = legend;
    this.strength = strength;
  }

  prepare(placed, shown, theme) {
    const { model } = this;
    const columns = model.columns.length;
    const kinds = this.legend.length;
    this.paints = this.legend.map((entry) => paintOf(entry.line, theme, this.strength));
    const counts = new Int32Array(model.groupCount * columns * kinds);
    for (let i = 0; i < model.opCount; i++) {
      if (shown.op[i]) counts[(model.opGroup[i] * columns + model.column[i]) * kinds + this.of[i]] += 1;
    }
    const width = columns * kinds;
    for (let at = model.groupCount - 1; at > 0; at--) {
      const around = model.parent[at] * width;
      for (let k = 0; k < width; k++) counts[around + k] += counts[at * width + k];
    }
    this.box = (i) => {
      if (placed.op[i] >= 0) return this.paints[this.of[placed.op[i]]];
      const base = (placed.group[i] * columns + placed.column[i]) * kinds;
      let best = 0;
      for (let k = 1; k < kinds; k++) if (counts[base + k] > counts[base + best]) best = k;
      return this.paints[best];
    };
  }
}

/** Colours by role: a group has the role of its column, and in the forward column what the plan says of it. */
class ByRole {
  constructor(model) {
    this.model = model;
    const counts = new Map();
    for (let i = 0; i < model.opCount; i++) counts.set(model.role(i), (counts.get(model.role(i)) ?? 0) + 1);
    this.legend = model.data.roles
      .filter((role) => counts.get(role))
      .map((role) => ({
        label: role === "backward" ? "gradient" : role,
        count: counts.get(role),
        line: model.data.paint[role] ?? OTHER,
      }));
  }

  prepare(placed, _shown, theme) {
    const { roles, paint } = this.model.data;
    const paints = new Map(roles.map((role) => [role, paintOf(paint[role] ?? OTHER, theme, 1)]));
    const last = this.model.columns.length - 1;
    this.box = (i) => {
      if (placed.op[i] >= 0) return paints.get(this.model.role(placed.op[i]));
      if (placed.column[i] === 0) return paints.get(roles[this.model.groupRole[placed.group[i]]]);
      return paints.get(placed.column[i] === last ? "update" : "backward");
    };
  }
}

/** Colours by a number of each op; a group has the sum. */
class ByNumber {
  constructor(model, { label, values }) {
    this.model = model;
    this.values = values;
    this.numeric = { label, ramp: model.data.ramp };
    this.legend = [];
  }

  prepare(placed, shown, theme) {
    const { model, values } = this;
    const columns = model.columns.length;
    const sums = new Float64Array(model.groupCount * columns);
    for (let i = 0; i < model.opCount; i++) {
      if (shown.op[i]) sums[model.opGroup[i] * columns + model.column[i]] += values[i] ?? 0;
    }
    for (let at = model.groupCount - 1; at > 0; at--) {
      for (let k = 0; k < columns; k++) sums[model.parent[at] * columns + k] += sums[at * columns + k];
    }
    const value = (i) =>
      placed.op[i] >= 0 ? (values[placed.op[i]] ?? 0) : sums[placed.group[i] * columns + placed.column[i]];
    let low = Number.POSITIVE_INFINITY;
    let high = 0;
    for (let i = 0; i < placed.count; i++) {
      const v = placed.open[i] ? 0 : value(i);
      if (v > 0) {
        low = Math.min(low, v);
        high = Math.max(high, v);
      }
    }
    const isWide = high / low > model.data.wideRange;
    const share = (v) => (isWide ? Math.log(v / low) / Math.log(high / low) : v / high);
    this.numeric = { ...this.numeric, low: isWide ? low : 0, high };
    const nothing = paintOf(OTHER, theme, 0.6);
    this.box = (i) => {
      if (placed.open[i]) return { ...nothing, line: theme.faint };
      const v = value(i);
      if (!(v > 0)) return nothing;
      const colour = rampColour(model.data.ramp, share(v));
      return { op: colour, group: colour, frame: theme.background, line: mix(colour, "#777777", 0.6), isStrong: true };
    };
  }
}

/** Every way to colour that this graph offers: key to a label and a maker. */
export function colourings(model) {
  const found = new Map([
    ["role", { label: "role", make: () => new ByRole(model) }],
    [
      "type",
      {
        label: "op type",
        make: () =>
          new ByCategory(
            model,
            categories(model, (i) => model.type(i)),
            2.2,
          ),
      },
    ],
    [
      "dtype",
      {
        label: "dtype",
        make: () =>
          new ByCategory(
            model,
            categories(model, (i) => model.dtype(i)),
            2.2,
          ),
      },
    ],
    [
      "device",
      {
        label: "device",
        make: () =>
          new ByCategory(
            model,
            categories(model, (i) => model.device(i)),
            2.2,
          ),
      },
    ],
  ]);
  for (const [key, values] of Object.entries(model.data.numbers)) {
    found.set(key, { label: key, make: () => new ByNumber(model, { label: key, values }) });
  }
  return found;
}

/** Black or white, whichever reads better on a colour. */
export function readableOn(colour) {
  const [r, g, b] = channels(colour);
  return r * 0.299 + g * 0.587 + b * 0.114 > 140 ? "#111111" : "#ffffff";
}
