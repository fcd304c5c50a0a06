// The parts of the page around the picture. Whatever comes from the graph is set as text, never as markup.

import { rampColour } from "./colour.mjs";
import { humanNumber } from "./text.mjs";

/** An element with a class, text and children. */
export function element(tag, { className = "", text = "", title = "" } = {}, children = []) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  if (title) made.title = title;
  made.append(...children);
  return made;
}

function button(text, action, className = "") {
  const made = element("button", { text, className });
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

function section(title, children) {
  return element("section", {}, [element("h3", { text: title }), ...children]);
}

function facts(rows) {
  const list = element("dl");
  for (const [key, value] of rows) list.append(element("dt", { text: key }), element("dd", { text: value }));
  return list;
}

const MOST_LINKS = 30;

/** Ops to jump to, the first few of them. */
function links(model, ops, go) {
  const list = element("ul", { className: "links" });
  for (const op of ops.slice(0, MOST_LINKS)) {
    const jump = button(model.names()[op], () => go(op), "link");
    list.append(element("li", {}, [jump, element("span", { className: "faint", text: ` ${model.type(op)}` })]));
  }
  if (ops.length > MOST_LINKS)
    list.append(element("li", { className: "faint", text: `and ${ops.length - MOST_LINKS} more` }));
  return list;
}

/** What the panel says of an op. `act` has `go(op)`, `pathFrom(op)`, `pathTo(op)`. */
export function opPanel(model, op, act) {
  const role = model.role(op);
  const parts = [
    element("h2", { text: model.opLabel(op) }),
    element("p", { className: "name", text: model.names()[op] }),
    element("p", { className: "buttons" }, [
      button("Path from here", () => act.pathFrom(op)),
      button("Path to here", () => act.pathTo(op)),
    ]),
    facts([
      ["type", model.type(op)],
      ["role", role === "backward" ? `gradient (${model.columns[model.column[op]]})` : role],
      ...model.outputs(op).map((spec, i) => [`output ${i}`, spec]),
      ["device", model.device(op)],
      ...Object.entries(model.data.numbers)
        .filter(([, values]) => values[op] !== null && values[op] !== undefined)
        .map(([key, values]) => [key, humanNumber(values[op])]),
      ...(model.where(op) ? [["made at", model.where(op)]] : []),
    ]),
  ];
  const add = (title, ops) =>
    ops.length && parts.push(section(`${title} (${ops.length})`, [links(model, ops, act.go)]));
  if (model.pair[op] >= 0) add("Gradient of", [model.pair[op]]);
  add("Its gradient", model.gradients().get(op) ?? []);
  add("Inputs", [...new Set(model.inputs().of(op))]);
  add("Consumers", [...new Set(model.consumers().of(op))]);
  const attributes = model.attributes(op).map((line) => {
    const at = line.indexOf(" = ");
    return [line.slice(0, at), line.slice(at + 3)];
  });
  if (attributes.length) parts.push(section("Attributes", [facts(attributes)]));
  return parts;
}

/** What the panel says of a group in one column. `act` has `go(op)`, `toggle()`, `isOpen`. */
export function groupPanel(model, { group, column, title }, act) {
  const ops = model.opsIn(group, column);
  const types = new Map();
  for (const op of ops) types.set(model.type(op), (types.get(model.type(op)) ?? 0) + 1);
  const listed = [...types].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const sums = Object.entries(model.data.numbers).map(([key, values]) => [
    `${key}, sum`,
    humanNumber(ops.reduce((sum, op) => sum + (values[op] ?? 0), 0)),
  ]);
  const parts = [
    element("h2", { text: title }),
    element("p", { className: "name", text: model.groupName(group) }),
    element("p", { className: "buttons" }, [button(act.isOpen ? "Close" : "Open", act.toggle)]),
    facts([["ops", ops.length.toLocaleString("en-US")], ["column", model.columns[column]], ...sums]),
    section("Op types", [facts(listed.slice(0, 20).map(([type, count]) => [type, count.toLocaleString("en-US")]))]),
  ];
  if (ops.length <= 200) parts.push(section("Ops", [links(model, ops, act.go)]));
  return parts;
}

/** The meaning of the colours. */
export function legend(colouring, lineOf) {
  if (colouring.numeric) {
    const { label, ramp, low, high } = colouring.numeric;
    const bar = element("div", { className: "ramp" });
    for (let i = 0; i < 24; i++) {
      const cell = element("span");
      cell.style.background = rampColour(ramp, i / 23);
      bar.append(cell);
    }
    const ends = high > 0 ? [humanNumber(low), humanNumber(high)] : ["no values", ""];
    return [
      element("div", { text: label }),
      bar,
      element(
        "div",
        { className: "ends" },
        ends.map((text) => element("span", { text })),
      ),
    ];
  }
  return colouring.legend.map((entry) => {
    const swatch = element("span", { className: "swatch" });
    swatch.style.borderColor = lineOf(entry.line);
    swatch.style.background = `color-mix(in srgb, ${entry.line} 30%, transparent)`;
    const count = element("span", { className: "faint", text: entry.count.toLocaleString("en-US") });
    return element("div", { className: "entry" }, [swatch, element("span", { text: entry.label }), count]);
  });
}

/** The short description beside the pointer. */
export function tipLines(model, { group, op }, label) {
  if (op < 0) return [label, model.groupName(group)];
  const lines = [model.names()[op], model.type(op), ...model.outputs(op).slice(0, 4)];
  if (model.pair[op] >= 0) lines.push(`gradient of ${model.names()[model.pair[op]]}`);
  return lines;
}
