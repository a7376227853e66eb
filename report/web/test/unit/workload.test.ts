import { expect, test } from "vitest";
import type { Example } from "../../src/data/workload";
import { depthsOf } from "../../src/workload/steps";
import { arrows, rows } from "../../src/workload/threads";
import { occurring, parts, WAYS } from "../../src/workload/ways";

test("the parts of a time are the non-zero ones, in a fixed order", () => {
  expect(WAYS.length).toBe(8);
  expect(parts([30, 0, 0, 20, 0, 0, 0, 50]).map(({ way, time }) => [way.name, time])).toEqual([["processor", 30], ["lock", 20], ["calls", 50]]);
  expect(parts([0, 0, 0, 0, 0, 0, 0])).toEqual([]);
  expect(occurring([[0, 1], [0, 0, 2]]).map(({ name }) => name)).toEqual(["runnable", "disk"]);
  expect(new Set(WAYS.map(({ css }) => css)).size).toBe(8);
});

test("steps are as deep as their parents imply", () => {
  const step = (parent: number | null) => ({ parent, name: "", time: null, spent: null });
  expect(depthsOf([step(null), step(0), step(1), step(0)])).toEqual([0, 1, 2, 1]);
});

const example: Pick<Example, "lanes" | "wakes"> = {
  lanes: [
    { name: "7", slices: [[0, 10, 0, 2], [10, 50, 3, -1], [50, 60, 0, 0]] },
    { name: "8", slices: [[10, 50, 0, 2]] },
  ],
  wakes: [[0, 9, 1, 10], [1, 48, 0, 50], [0, 5, 0, 6], [4, 5, 0, 6]],
};

test("processors have rows of their own with the threads that ran on them", () => {
  const made = rows(example);
  expect(made.map(({ name }) => name)).toEqual(["7", "8", "processor 0", "processor 2"]);
  expect(made[2]?.slices).toEqual([{ from: 50, to: 60, way: 0, with: 0 }]);
  expect(made[3]?.slices.map(({ from, with: thread }) => [from, thread])).toEqual([[0, 0], [10, 1]]);
  expect(made[0]?.slices[1]).toEqual({ from: 10, to: 50, way: 3, with: null });
});

test("hand-offs are between two existing rows", () => {
  expect(arrows(example)).toEqual([[0, 9, 1, 10], [1, 48, 0, 50]]);
});
