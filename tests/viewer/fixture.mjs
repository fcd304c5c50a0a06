// The fixture of picture_fixture.py, unpacked; test_viewer.py writes it and says where.

import { readFileSync } from "node:fs";
import { Model } from "../../symgrad/_picture/viewer/model.mjs";
import { Placer } from "../../symgrad/_picture/viewer/place.mjs";
import { textMeasure } from "../../symgrad/_picture/viewer/text.mjs";

export const fixture = JSON.parse(readFileSync(process.env.SYMGRAD_FIXTURE, "utf8"));
export const model = new Model(fixture.data);
export const placer = new Placer(model, textMeasure(fixture.data.metrics));

/** Flags of the groups that are open in a case of the fixture. */
export function openedAs({ opened }) {
  const flags = new Uint8Array(model.groupCount);
  for (const at of opened) flags[at] = 1;
  return flags;
}
