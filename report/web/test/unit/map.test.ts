import { expect, test } from "vitest";
import type { Overview } from "../../src/data/types";
import { labels } from "../../src/map/labels";
import { layout, type Placed } from "../../src/map/layout";
import { along } from "../../src/map/lines";
import { overview } from "./made";

/** A map of nodes by name, with callers and callees. */
function mapped(names: string[], calls: [number, number][]): Overview {
  const edge = ([from, to]: [number, number]) => ({
    from, to, port: 0, protocol: "tcp", there: 10, back: 10, network: 5, untraced: null,
    network_time: 100, untraced_time: 0, connect_time: 0, bytes: 10,
  });
  const nodes = names.map((_, name) => ({ name, traced: true, expected: 1, mean: 5, time: 5 }));
  return { ...overview(), names, map: { nodes, edges: calls.map(edge) } };
}

const boxes = (placed: Placed) => placed.nodes.map(({ x, y, width, height }) => ({ x: x - width / 2, y: y - height / 2, width, height }));

/** A gateway that calls all others, some of which call back and one itself. */
const names = ["gateway", ...Array.from({ length: 12 }, (_, number) => `host${number}/service`)];
const calls: [number, number][] = [...names.slice(1).map((_, place): [number, number] => [0, place + 1]), [3, 0], [4, 4], [5, 6], [6, 5]];

test("each line has an arrowhead that no node covers, wherever it goes", () => {
  for (const room of [1400, 600, 330]) {
    const placed = layout(mapped(names, calls), room);
    expect(placed.lines.length).toBe(calls.length);
    for (const { tip } of placed.lines) {
      for (const { x, y } of tip) {
        expect(x).toBeGreaterThanOrEqual(0);
        expect(x).toBeLessThanOrEqual(placed.width);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y).toBeLessThanOrEqual(placed.height);
        expect(boxes(placed).some((box) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height)).toBe(false);
      }
    }
  }
});

test("two nodes that talk over several ports have one line", () => {
  const placed = layout(mapped(["web", "db"], [[0, 1], [0, 1], [1, 0]]), 1000);
  expect(placed.lines.length).toBe(2);
  expect(placed.ways).toEqual([[0, 1], [2]]);
});

test("labels lie upon nothing", () => {
  const placed = layout(mapped(names, calls), 1400);
  const size = { width: 54, height: 27 };
  const found = labels(placed.lines, boxes(placed), size, { x: 0, y: 0, width: placed.width, height: placed.height });
  expect(found.size).toBeGreaterThan(8);
  const written = [...found.values()].map((at) => ({ ...at, ...size }));
  const points = placed.lines.flatMap((line) => along(line.points, 1));
  for (const [which, box] of written.entries()) {
    const holds = ({ x, y }: { x: number; y: number }) => x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
    expect(points.some(holds)).toBe(false);
    for (const other of [...written.slice(which + 1), ...boxes(placed)]) {
      const meet = other.x < box.x + box.width && box.x < other.x + other.width && other.y < box.y + box.height && box.y < other.y + other.height;
      expect(meet).toBe(false);
    }
  }
});

test("without room there is no label", () => {
  const line = { index: 0, points: [{ x: 0, y: 5 }, { x: 10, y: 5 }, { x: 20, y: 5 }, { x: 30, y: 5 }], tip: [{ x: 30, y: 5 }] };
  expect(labels([line], [], { width: 20, height: 10 }, { x: 0, y: 0, width: 40, height: 9 }).size).toBe(0);
  expect(labels([line], [], { width: 20, height: 10 }, { x: 0, y: 0, width: 40, height: 30 }).size).toBe(1);
});
