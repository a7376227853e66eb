import { beforeEach, expect, test } from "vitest";
import { shaded } from "../../src/colors";
import { firstLevel, listed, parts } from "../../src/contexts/rank";
import { outline, pile, scale, ticks } from "../../src/contexts/scale";
import { address, chooseLevel, chooseOperation, context, level, look, operation } from "../../src/state";
import { contexts } from "./made_contexts";

beforeEach(() => look(""));

test("operations are found by all words and ranked by the selected value", () => {
  const made = contexts();
  const names = (...asked: [Parameters<typeof listed>[1], string]) => listed(made, ...asked).map(({ id }) => id);
  expect(names("explained", "")).toEqual([100, 200, 300]);
  expect(names("explained", "items STORE")).toEqual([100]);
  expect(names("explained", "items cache")).toEqual([]);
  expect(names("count", "")).toEqual([200, 100, 300]);
  expect(names("deviation", "")).toEqual([100, 200, 300]);
});

test("an operation is shown by the contexts that make it slow, or by the coarsest that differ", () => {
  const [store, cache, log] = contexts().operations;
  if (!store || !cache || !log) throw new Error("there are three");
  expect(firstLevel({ ...store, reason: "trace" })).toBe("trace");
  expect(firstLevel(cache)).toBe("caller");
  expect(firstLevel({ ...cache, contexts: { ...cache.contexts, caller: log.contexts.caller } })).toBe("stack");
  expect(firstLevel(log)).toBe("caller");
});

test("a share has a part beyond chance and one by chance, and never exceeds the whole", () => {
  expect(parts({ share: 0.75, beyond_chance: 0.5 })).toEqual([0.5, 0.25]);
  // Less than chance would explain, and more than the counted deviation.
  expect(parts({ share: 0.2, beyond_chance: -3 })).toEqual([0, 0.2]);
  expect(parts({ share: 0.2, beyond_chance: 0.25 })).toEqual([0.2, 0]);
  expect(parts({ share: -1e-9, beyond_chance: 0 })).toEqual([0, 0]);
});

test("a time has its place on a log axis", () => {
  const axis = scale({ first: 1e3, ratio: 10, count: 4 });
  expect([1e3, 1e5, 1e7].map(axis.place)).toEqual([0, 0.5, 1].map((at) => expect.closeTo(at, 9)));
  // Times beyond the bins, such as 0, are at the edge.
  expect([0, 1e12].map(axis.place)).toEqual([0, 1]);
  expect(axis.high).toBeCloseTo(1e7);
  expect(ticks(axis, 3).length).toBeLessThanOrEqual(3);
  // All times alike.
  const narrow = scale({ first: 5e6, ratio: 1.001, count: 32 });
  expect(ticks(narrow, 3).length).toBeGreaterThan(0);
  expect(narrow.place(5e6)).toBe(0);
});

test("contexts stand upon each other, and the rest upon them", () => {
  const { layers, rest, most } = pile([[1, 2, 0], [], [1, 0, 5]], [3, 2, 5.001]);
  expect(layers.map(({ bases }) => bases)).toEqual([[0, 0, 0], [1, 2, 0], [1, 2, 0]]);
  expect(layers[1]?.bars).toEqual([0, 0, 0]);
  // A thousandth is a rounding error.
  expect(rest).toEqual({ bars: [1, 0, 0], bases: [2, 2, 5] });
  expect(most).toBe(5.001);
});

test("bars have an outline each", () => {
  expect(outline([1, 0, 2], [1, 0, 0], 4)).toBe("M0 0.75V0.5H1V0.75ZM2 1V0.5H3V1Z");
  expect(outline([0, 0], [], 0)).toBe("");
});

test("contexts have shades by their means", () => {
  const { css, shades } = shaded([1e6, 1.1e6, 3e7]);
  expect(css).toEqual(["heat-0", "heat-0", "heat-4"]);
  expect(shades.map((shade) => shade.css)).toEqual(["heat-0", "heat-4"]);
  expect(shades[1]?.to).toBeCloseTo(3e7);
  expect(shaded([])).toEqual({ css: [], shades: [] });
});

test("an address has the selected context", () => {
  look("contexts?operation=7&level=trace&context=12");
  expect([operation.value, level.value, context.value]).toEqual([7, "trace", 12]);
  expect(address()).toBe("contexts?operation=7&level=trace&context=12");
  chooseLevel("stack");
  expect(address()).toBe("contexts?operation=7&level=stack");
  chooseOperation(8);
  expect(address()).toBe("contexts?operation=8");
  look("contexts?operation=x&level=none&context=-1");
  expect(address()).toBe("contexts");
});
