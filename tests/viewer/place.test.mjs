// The viewer's placement and lines against those of `_place.py` and `_route.py`, on the fixture that Python wrote.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Shown } from "../../symgrad/_picture/viewer/place.mjs";
import { Wires } from "../../symgrad/_picture/viewer/wires.mjs";
import { fixture, model, openedAs, placer } from "./fixture.mjs";

const near = (a, b) => Math.abs(a - b) < 2e-3;

/** Records a path as the SVG text that Python writes. */
class Recorder {
  constructor() {
    this.parts = [];
  }

  #add(letter, numbers) {
    const pairs = [];
    for (let i = 0; i < numbers.length; i += 2) pairs.push([numbers[i], numbers[i + 1]]);
    this.parts.push([letter, pairs.flat()]);
  }

  moveTo(...at) {
    this.#add("M", at);
  }

  lineTo(...at) {
    this.#add("L", at);
  }

  bezierCurveTo(...at) {
    this.#add("C", at);
  }

  quadraticCurveTo(...at) {
    this.#add("Q", at);
  }
}

function parsed(path) {
  return [...path.matchAll(/([MLCQ])([^MLCQ]*)/g)].map((match) => [match[1], match[2].trim().split(/\s+/).map(Number)]);
}

const sameParts = (one, two) =>
  one.length === two.length &&
  one.every(
    ([letter, numbers], i) =>
      letter === two[i][0] && numbers.every((value, k) => Math.abs(value - two[i][1][k]) < 0.0501 + 1e-9),
  );

for (const wanted of fixture.cases) {
  const { name } = wanted;
  const shown = new Shown(model, new Set(wanted.asides));
  const placed = placer.place(openedAs(wanted), shown);

  test(`boxes stand where Python puts them: ${name}`, () => {
    const found = [];
    for (let i = 0; i < placed.count; i++) {
      const title = placed.op[i] >= 0 ? model.names()[placed.op[i]] : model.groupName(placed.group[i]);
      found.push([title, placed.column[i], placed.open[i], placed.x[i], placed.y[i], placed.w[i], placed.h[i]]);
    }
    const order = (a, b) =>
      a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1] || b[2] - a[2] || a[4] - b[4] || a[3] - b[3];
    const [one, two] = [found.sort(order), [...wanted.boxes].sort(order)];
    assert.equal(one.length, two.length);
    for (let i = 0; i < one.length; i++) {
      const isSame = one[i].every((value, k) =>
        typeof value === "number" ? near(value, two[i][k]) : value === two[i][k],
      );
      assert.ok(isSame, `${JSON.stringify(one[i])} should be ${JSON.stringify(two[i])}`);
    }
    assert.ok(near(placed.width, wanted.width));
    assert.ok(near(placed.height, wanted.height));
  });

  test(`lines run where Python draws them: ${name}`, () => {
    const wires = new Wires(model, placed, shown, { allControl: false });
    const left = wanted.paths.map(parsed);
    assert.equal(wires.count, left.length);
    for (let i = 0; i < wires.count; i++) {
      const path = new Recorder();
      wires.trace(path, i);
      const at = left.findIndex((other) => sameParts(path.parts, other));
      assert.ok(at >= 0, `no line of Python's is ${JSON.stringify(path.parts)}`);
      left.splice(at, 1);
    }
  });
}
