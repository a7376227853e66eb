import { expect, test } from "vitest";
import { lanes } from "../../src/pattern/flags";
import { ticks, timeline } from "../../src/pattern/timeline";
import { timing } from "../../src/pattern/timing";
import type { Instance } from "../../src/data/types";
import { details, FORKED, LOOKUP } from "./made";

test("branches have rows of their own, and the path waits for the uppermost", () => {
  const made = details(FORKED, { hop: 4, part: "node" });
  const of = timeline(made, timing(made, null));
  const rows = new Map(of.elements.map((element) => [`${element.hop} ${element.kind}`, element.row]));
  // The path ends with the message at 130, not with the response at 120.
  expect(rows.get("3 node")).toBe(0);
  expect(rows.get("6 node")).toBe(0);
  expect(rows.get("5 node")).toBe(1);
  expect(rows.get("1 node")).toBe(2);
  expect(rows.get("2 sink")).toBe(2);
  expect(of.rows).toBe(3);
  expect(of.forks).toEqual([{ at: 100, fromRow: 0, toRow: 1 }, { at: 0, fromRow: 0, toRow: 2 }]);
  expect(of.elements.filter((element) => element.critical).map(({ hop, kind }) => [hop, kind])).toEqual([[4, "node"]]);
});

test("elements are as long as the delays and do not overlap on a row", () => {
  for (const hops of [FORKED, LOOKUP]) {
    const made = details(hops);
    const of = timeline(made, timing(made, null));
    for (let row = 0; row < of.rows; row++) {
      const elements = of.elements.filter((element) => element.row === row);
      expect(elements.length).toBeGreaterThan(0);
      for (const [index, element] of elements.entries()) {
        expect(element.to).toBeGreaterThanOrEqual(element.from);
        const next = elements[index + 1];
        if (next) expect(next.from).toBeGreaterThanOrEqual(element.to);
      }
    }
    expect(of.span).toBe(Math.max(...hops.map((hop) => hop[5])));
  }
});

test("an untraced node is one diamond that includes its network in both directions", () => {
  const made = details(LOOKUP);
  const of = timeline(made, timing(made, null));
  const shapes = of.elements.map(({ kind, from, to }) => [kind, from, to]);
  expect(shapes).toEqual([
    ["source", 0, 0], ["node", 0, 10], ["untraced", 10, 60], ["node", 60, 70], ["sink", 70, 70],
  ]);
});

test("a node that waits for a connection is at work before that", () => {
  const made = details(FORKED);
  const connect = { hop: 1, part: "connect" as const, share: 0.25, mean: 16, p50: 16, p99: 20, histogram: [] };
  made.delays.push(connect);
  const shapes = (instance: Instance | null) =>
    timeline(made, timing(made, instance)).elements.filter(({ hop }) => hop === 1).map(({ kind, from, to }) => [kind, from, to]);
  expect(shapes(null)).toEqual([["node", 0, 6], ["connect", 6, 10], ["network", 10, 20]]);
  const { sent, received } = made.hops;
  const instance = { path: 1, probability: 1, at: 0, duration: 130, sent, received };
  expect(shapes(instance)).toEqual([["node", 0, 10], ["network", 10, 20]]);
  expect(shapes({ ...instance, connecting: [[1, 7]] })[1]).toEqual(["connect", 3, 10]);
});

test("an instance has its own times, of which some may not be known", () => {
  const made = details(LOOKUP);
  const instance = {
    path: 1, probability: 1, at: 0, duration: 100,
    sent: [null, 20, null, 95], received: [0, null, 80, null],
  };
  const of = timeline(made, timing(made, instance));
  expect(of.elements.map(({ kind, from, to }) => [kind, from, to])).toEqual([
    ["source", 0, 0], ["node", 0, 20], ["untraced", 20, 80], ["node", 80, 95], ["sink", 95, 95],
  ]);
  expect(of.span).toBe(95);
});

test("clocks that are off do not turn time around", () => {
  const made = details([[-1, 0, 1, 3, 0, 10], [0, 1, 0, 3, 8, 5]]);
  const of = timeline(made, timing(made, null));
  expect(of.elements.every((element) => element.to >= element.from)).toBe(true);
});

test("ticks are round and reach the end", () => {
  expect(ticks(3.25e6)).toEqual([0, 0.5e6, 1e6, 1.5e6, 2e6, 2.5e6, 3e6]);
  expect(ticks(0)).toEqual([0]);
  for (const span of [1, 7, 999, 3.2e4, 6.4e7, 1.01e9, 9.9e10]) {
    const made = ticks(span);
    expect(made.length).toBeGreaterThanOrEqual(3);
    expect(made.length).toBeLessThanOrEqual(9);
    expect((made.at(-1) ?? 0) * 1.6).toBeGreaterThan(span);
  }
});

test("flags have room on their lanes, the heaviest first", () => {
  const flag = (x: number, weight: number) => ({ from: x, to: x + 50, pole: x, weight });
  expect(lanes([flag(0, 1), flag(100, 1)], 3)).toEqual([0, 0]);
  // The lighter one goes above, as its pole passes to the left of the other.
  expect(lanes([flag(0, 1), flag(20, 2)], 3)).toEqual([1, 0]);
  // A flag with a pole that would go through the text of the other has no place.
  expect(lanes([flag(0, 2), flag(20, 1)], 3)).toEqual([0, null]);
  // A text must not cover the pole of a flag above it either.
  expect(lanes([flag(0, 3), flag(-20, 2), flag(-60, 1)], 3)).toEqual([0, 1, 2]);
  // To the left of its pole there is room where another one ends.
  expect(lanes([flag(100, 2), { from: 40, to: 90, pole: 90, weight: 1 }], 3)).toEqual([0, 0]);
  // Nor a line that leads to another row.
  expect(lanes([flag(0, 1), flag(100, 1)], 3, [120])).toEqual([0, null]);
});
