// The parts of the viewer that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { packNumbers, readAddress, unpackNumbers, writeAddress } from "../../symgrad/_picture/viewer/address.mjs";
import { colourings, mix, rampColour, readableOn, THEMES } from "../../symgrad/_picture/viewer/colour.mjs";
import { WireIndex } from "../../symgrad/_picture/viewer/draw.mjs";
import { Shown } from "../../symgrad/_picture/viewer/place.mjs";
import { humanNumber, textMeasure, withCommas } from "../../symgrad/_picture/viewer/text.mjs";
import {
  between,
  centred,
  firstView,
  fitted,
  nextBox,
  withinSight,
  zoomed,
} from "../../symgrad/_picture/viewer/view.mjs";
import { Wires } from "../../symgrad/_picture/viewer/wires.mjs";
import { fixture, model, openedAs, placer } from "./fixture.mjs";

const room = { width: 1000, height: 600 };
const op = (name) => model.positions().get(name);

test("numbers of open groups come back from the address", () => {
  for (const numbers of [[], [3], [1, 2, 3, 7, 9, 10]])
    assert.deepEqual(unpackNumbers(packNumbers(numbers), 11), numbers);
  assert.equal(packNumbers([1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
});

test("an address that makes no sense opens nothing and takes no time", () => {
  assert.deepEqual(unpackNumbers("x,-1,5-2,1e9,<b>,999999999999,7", 6), []);
  assert.deepEqual(unpackNumbers("0-999999999", 4), [0, 1, 2, 3]);
  assert.deepEqual(readAddress("#%E0%A4%A&=&a"), { "\uFFFD%A": "", "": "", a: "" });
});

test("any name survives the address", () => {
  const state = { op: "a/b&c=d#e%20 ∇<script>", view: "1,2,3", none: "" };
  assert.deepEqual(readAddress(`#${writeAddress(state)}`), { op: state.op, view: "1,2,3" });
});

test("text is as wide as the table says and is cut in its middle", () => {
  const { width, shorten } = textMeasure({ widths: [["ab", 500]], wide: 1000 });
  assert.equal(width("abW", 10), 20);
  assert.equal(shorten("ab", 10, 10), "ab");
  const cut = shorten("aaaaaaaaaabbbbbbbbbb", 10, 60);
  assert.match(cut, /^a+…b+$/);
  assert.ok(width(cut, 10) <= 60);
});

test("numbers are written for people", () => {
  assert.equal(withCommas(1234567), "1,234,567");
  assert.equal(withCommas(1005), "1,005");
  assert.equal(withCommas(12), "12");
  assert.equal(humanNumber(3.8123e9), "3.81 G");
  assert.equal(humanNumber(1234), "1,234");
  assert.equal(humanNumber(0.00012), "1.20e-4");
  assert.equal(humanNumber(Number.NaN), "unknown");
});

test("kin of a forward op are its gradients of every order, and the way back is the same", () => {
  const names = (set) => [...set].map((i) => model.names()[i]);
  const sine = names(model.kin(op("branch/Sin")));
  assert.ok(sine.includes("gradients_2/branch/Sin_grad/Cos") || sine.some((name) => name.includes("Sin_grad/")));
  for (const name of sine) assert.ok(model.kin(op(name)).has(op("branch/Sin")), name);
  assert.ok(!sine.some((name) => name.includes("Cos_grad")));
});

test("paths hold exactly the ops that data flows through", () => {
  const path = [...model.between(op("branch/Sin"), op("loss"))].map((i) => model.names()[i]);
  assert.deepEqual(path.sort(), ["branch/Sin", "branch/mul", "loss"]);
  assert.equal(model.between(op("loss"), op("branch/Sin")).size, 0);
});

test("search finds names and types, exact ones first", () => {
  assert.equal(model.names()[model.search("LOSS", 5).found[0]], "loss");
  assert.ok(model.search("tanhgrad", 50).found.every((i) => model.type(i) === "TanhGrad"));
  assert.deepEqual(model.search("no such thing", 5), { found: [], count: 0 });
  assert.deepEqual(model.search("  ", 5), { found: [], count: 0 });
  const { found, count } = model.search("layer", 3);
  assert.equal(found.length, 3);
  assert.ok(count > 3);
});

test("ops of a group are those in it", () => {
  const at = Array.from({ length: model.groupCount }, (_, i) => i).find((i) => model.groupName(i) === "branch");
  const forward = model.opsIn(at, 0).map((i) => model.names()[i]);
  assert.deepEqual(forward.sort(), ["branch/Cos", "branch/Sin", "branch/mul"]);
});

test("the whole picture fits, and its beginning where that would be too small to read", () => {
  const whole = fitted({ width: 500, height: 300 }, room);
  assert.ok(whole.x >= 0 && whole.x + 500 * whole.scale <= room.width);
  assert.ok(whole.y >= 0 && whole.y + 300 * whole.scale <= room.height);
  const tall = firstView({ width: 800, height: 1e6 }, room);
  assert.ok(tall.scale >= 0.3);
  assert.ok(tall.y > 0 && tall.y < 100);
  const thin = fitted({ width: 800, height: 1e6 }, room);
  assert.ok(thin.scale * 800 >= 79, "never a mere line");
  assert.ok(thin.y >= 0 && thin.y < 100);
});

test("zooming holds the point under the pointer, within limits", () => {
  const view = { scale: 1, x: 10, y: 20 };
  const point = { x: 300, y: 200 };
  const after = zoomed(view, 2, point, 0.1);
  assert.equal((point.x - after.x) / after.scale, point.x - view.x);
  assert.equal(zoomed(view, 1e9, point, 0.1).scale, 4);
  assert.equal(zoomed(view, 1e-9, point, 0.1).scale, 0.1);
});

test("views move to a box, and no further than needed", () => {
  const box = [2000, 1000, 60, 26];
  const view = { scale: 1, x: 0, y: 0 };
  const middle = centred(view, box, room);
  assert.equal(middle.x + middle.scale * 2030, room.width / 2);
  assert.deepEqual(withinSight({ scale: 1, x: -1500, y: -700 }, box, room), { scale: 1, x: -1500, y: -700 });
  const seen = withinSight(view, box, room);
  assert.ok(seen.x + 2060 <= room.width && seen.y + 1026 <= room.height);
  assert.deepEqual(between(view, { scale: 3, x: 10, y: 20 }, 0.5), { scale: 2, x: 5, y: 10 });
});

test("arrows go to the nearest box in their direction", () => {
  const placed = {
    count: 4,
    x: [0, 100, 0, 0],
    y: [0, 0, 50, 300],
    w: [20, 20, 20, 20],
    h: [10, 10, 10, 10],
    open: [0, 0, 0, 0],
  };
  assert.equal(nextBox(placed, 0, [1, 0]), 1);
  assert.equal(nextBox(placed, 0, [0, 1]), 2);
  assert.equal(nextBox(placed, 3, [0, -1]), 2);
  assert.equal(nextBox(placed, 0, [-1, 0]), -1);
});

test("every colouring gives every box colours that can be told from the background", () => {
  const opened = openedAs(fixture.cases[2]);
  const shown = new Shown(model, new Set());
  const placed = placer.place(opened, shown);
  for (const [key, { make }] of colourings(model)) {
    for (const theme of Object.values(THEMES)) {
      const colouring = make();
      colouring.prepare(placed, shown, theme);
      for (let i = 0; i < placed.count; i++) {
        const { line } = colouring.box(i);
        assert.match(line, /^#[0-9a-f]{6}$/, key);
        assert.notEqual(line, theme.background);
      }
    }
  }
  assert.equal(mix("#ffffff", "#000000", 0.5), "#808080");
  assert.equal(rampColour(fixture.data.ramp, 0), "#00224e");
  assert.equal(rampColour(fixture.data.ramp, 1), "#fee838");
  assert.equal(readableOn(rampColour(fixture.data.ramp, 0)), "#ffffff");
  assert.equal(readableOn(rampColour(fixture.data.ramp, 1)), "#111111");
});

test("the index of lines yields all lines in view where the budget allows, and about the budget where not", () => {
  const shown = new Shown(model, new Set());
  const placed = placer.place(openedAs(fixture.cases[2]), shown);
  const wires = new Wires(model, placed, shown, { allControl: true });
  const index = new WireIndex(wires, placed.height);
  const all = [...index.visible(-1e6, 1e6, 10, 1e6)].sort((a, b) => a - b);
  assert.deepEqual(
    all,
    Array.from({ length: wires.count }, (_, i) => i),
  );
  const top = placed.height * 0.4;
  const seen = new Set(index.visible(top, top + 50, 10, 1e6));
  for (let i = 0; i < wires.count; i++) {
    const crosses = index.low[i] <= top + 50 && index.low[i] + index.length[i] >= top;
    assert.equal(seen.has(i), crosses);
  }
  assert.ok([...index.visible(-1e6, 1e6, 10, 10)].length <= 10 + index.classes.length);
});
