// Widths of text by the same table as the drawings that Python makes, so that both place boxes alike.

/**
 * @param {{widths: [string, number][], wide: number}} metrics widths in thousandths of the size, by kind of character
 * @returns {{width: function(string, number): number, shorten: function(string, number, number): string}}
 */
export function textMeasure(metrics) {
  const table = new Map();
  for (const [characters, width] of metrics.widths) for (const one of characters) table.set(one, width);

  function width(text, size) {
    let total = 0;
    for (const one of text) total += table.get(one) ?? metrics.wide;
    return (total * size) / 1000;
  }

  /** `text` with its middle left out where it is wider than `room`: names differ at their ends. */
  function shorten(text, size, room) {
    const full = width(text, size);
    if (full <= room) return text;
    const all = [...text];
    const cut = (keep) => {
      const head = Math.floor(keep / 2);
      return `${all.slice(0, head).join("")}…${all.slice(all.length - (keep - head)).join("")}`;
    };
    let keep = Math.max(2, Math.floor((all.length * room) / full) - 1);
    while (keep > 2 && width(cut(keep), size) > room) keep -= 1;
    return cut(keep);
  }

  return { width, shorten };
}

/** A count or measured value as people write it: 1234 -> "1,234", 3.8e9 -> "3.8 G". */
export function humanNumber(value) {
  if (!Number.isFinite(value)) return "unknown";
  const size = Math.abs(value);
  if (size >= 1e4) {
    const power = Math.min(6, Math.floor(Math.log10(size) / 3));
    return `${Number((value / 10 ** (3 * power)).toPrecision(3))} ${["", "k", "M", "G", "T", "P", "E"][power]}`;
  }
  return size > 0 && size < 1e-3 ? value.toExponential(2) : Number(value.toPrecision(4)).toLocaleString("en-US");
}

/** A whole number with commas; the many counts of a large graph have no time for toLocaleString. */
export function withCommas(count) {
  if (count < 1000) return String(count);
  return `${withCommas(Math.floor(count / 1000))},${String(count % 1000).padStart(3, "0")}`;
}
