import { expect, test } from "vitest";
import { shares } from "../../src/evidence";

test("shares are whole per cent of all calls, and the smallest are not zero", () => {
  const decided: [string, number][] = [["tasks", 910], ["words", 60], ["ids", 1], ["inferred", 29]];
  expect(shares({ decided, limits: [] })).toEqual([
    { kind: "tasks", share: "91%" },
    { kind: "words", share: "6%" },
    { kind: "ids", share: "<1%" },
    { kind: "inferred", share: "3%" },
  ]);
  expect(shares({ decided: [], limits: ["gateway: Python 3.15, tasks are not followed"] })).toEqual([]);
});
