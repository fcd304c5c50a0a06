// Where the picture stands in the window, as pure arithmetic.

const READABLE = 0.55; // below this scale the first view does not show the whole picture but its beginning
const MOST = 4;
const THINNEST = 80; // pixels that are left of the thin side of a very tall or very wide picture

/** @typedef {{scale: number, x: number, y: number}} View the picture's origin in CSS pixels, and pixels per unit */

/** How far lines that go around boxes reach beside them, or the boxes themselves. */
function reach({ width, left = 0, right = width }) {
  return { left, width: right - left };
}

/** All of the picture in the room, centred; of a very tall or very wide one the beginning. */
export function fitted(picture, room, most = 1.25) {
  const { left, width } = reach(picture);
  const whole = Math.min(room.width / (width + 60), room.height / (picture.height + 90), most);
  const thin = THINNEST / Math.max(1, Math.min(width, picture.height));
  const scale = Math.min(most, Math.max(whole, thin));
  return {
    scale,
    x: Math.max(scale * 30, (room.width - scale * width) / 2) - scale * left,
    y: Math.max(scale * 45, (room.height - scale * picture.height) / 2 + scale * 15),
  };
}

/** Whether the room shows all of the picture. */
export function isWhole(view, picture, room) {
  const { left, width } = reach(picture);
  const x = view.x + view.scale * left;
  const [right, bottom] = [x + view.scale * width, view.y + view.scale * picture.height];
  return x >= 0 && view.y >= 0 && right <= room.width && bottom <= room.height;
}

/** All of it where that can be read, else its beginning over the full width. */
export function firstView(picture, room) {
  const whole = fitted(picture, room);
  if (whole.scale >= READABLE) return whole;
  const { left, width } = reach(picture);
  const scale = Math.max(0.3, Math.min(room.width / (width + 60), 0.85));
  return { scale, x: (room.width - scale * width) / 2 - scale * left, y: 45 * scale + 10 };
}

/** `view` with the point of the screen held where it is while the scale changes by `factor`. */
export function zoomed(view, factor, point, least) {
  const scale = Math.min(MOST, Math.max(least, view.scale * factor));
  const share = scale / view.scale;
  return { scale, x: point.x - (point.x - view.x) * share, y: point.y - (point.y - view.y) * share };
}

/** `view` moved so that the rectangle is in the middle, at a scale at which it can be read. */
export function centred(view, [x, y, w, h], room) {
  const scale = Math.min(1.4, Math.max(view.scale, 0.85));
  return { scale, x: room.width / 2 - scale * (x + w / 2), y: room.height / 2 - scale * (y + h / 2) };
}

/** `view` moved just so far that the rectangle is inside the room. */
export function withinSight(view, [x, y, w, h], room) {
  const margin = 30;
  const left = view.x + view.scale * x;
  const top = view.y + view.scale * y;
  const shift = (low, high, size) => {
    if (low < margin) return margin - low;
    return high > size - margin ? Math.max(size - margin - high, margin - low) : 0;
  };
  return {
    scale: view.scale,
    x: view.x + shift(left, left + view.scale * w, room.width),
    y: view.y + shift(top, top + view.scale * h, room.height),
  };
}

/** Between two views, `share` of the way. */
export function between(one, two, share) {
  const part = (key) => one[key] + (two[key] - one[key]) * share;
  return { scale: part("scale"), x: part("x"), y: part("y") };
}

/** The box that lies next in a direction, -1 if there is none: near ones first, those beside the line later. */
export function nextBox(placed, from, [dx, dy]) {
  const centre = (i) => [placed.x[i] + placed.w[i] / 2, placed.y[i] + placed.h[i] / 2];
  const [x, y] = centre(from);
  let best = -1;
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < placed.count; i++) {
    if (placed.open[i] || i === from) continue;
    const [u, v] = centre(i);
    const along = (u - x) * dx + (v - y) * dy;
    if (along < 6) continue;
    const across = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
    const cost = along + 2.5 * across;
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}
