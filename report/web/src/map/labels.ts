// Positions for labels next to the lines of the map: not over any line, node, arrowhead or other
// label. A label without such a position is left out; the table below the map has its text.

import { along, type Line, type Point } from "./lines";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Positions along a line where a label is tried, the best first. */
const PLACES = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.12, 0.88];
/** Distances of a label from its line that are tried, the best first. */
const BESIDE = [3.5, 9, 16];
/** Distance between a label and its surroundings. */
const APART = 2;
const CELL = 24;

interface Size {
  width: number;
  height: number;
}

/**
 * The upper left corners of labels of that size, by the number of their line; labels of the first
 * lines are placed first. No other line is as near to a label as its own.
 */
export function labels(lines: Line[], nodes: Box[], size: Size, room: Box): Map<number, Point> {
  const taken = new Taken();
  const curves = lines.map((line) => along(line.points));
  curves.forEach((curve, line) => curve.forEach((at) => taken.add({ ...at, width: 0, height: 0 }, line)));
  lines.forEach((line) => taken.add(around(line.tip)));
  nodes.forEach((node) => taken.add(node));
  const placed = new Map<number, Point>();
  lines.forEach((line, which) => {
    const fits = ({ at, beside }: Candidate) => {
      const box = { ...at, ...size };
      return within(box, room) && taken.isFree(grown(box, APART)) && taken.isFree(grown(box, beside + 1), which);
    };
    const found = candidates(curves[which] ?? [], size).find(fits);
    if (!found) return;
    placed.set(line.index, found.at);
    taken.add({ ...found.at, ...size });
  });
  return placed;
}

interface Candidate {
  at: Point;
  beside: number;
}

/** Positions next to a curve: above and below it, and to its right and left; near ones first. */
function candidates(curve: Point[], { width, height }: Size): Candidate[] {
  return BESIDE.flatMap((beside) =>
    PLACES.flatMap((part) => {
      const at = curve[Math.round(part * (curve.length - 1))];
      if (!at) return [];
      const [left, top] = [at.x - width / 2, at.y - height / 2];
      return [
        { x: left, y: at.y - height - beside },
        { x: left, y: at.y + beside },
        { x: at.x + beside, y: top },
        { x: at.x - width - beside, y: top },
      ].map((corner) => ({ at: corner, beside }));
    }),
  );
}

function around(points: Point[]): Box {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

function grown({ x, y, width, height }: Box, by: number): Box {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

function within(box: Box, room: Box): boolean {
  return box.x >= room.x && box.y >= room.y && box.x + box.width <= room.x + room.width && box.y + box.height <= room.y + room.height;
}

/** Occupied space, by the cells of a grid; for points of lines, with the line. */
class Taken {
  private cells = new Map<string, { box: Box; line: number | null }[]>();

  add(box: Box, line: number | null = null): void {
    for (const cell of cellsOf(box)) {
      const here = this.cells.get(cell);
      if (here) here.push({ box, line });
      else this.cells.set(cell, [{ box, line }]);
    }
  }

  /** Whether the space is free; with `but`, only other lines count. */
  isFree(box: Box, but?: number): boolean {
    const isInWay = (line: number | null) => but === undefined || (line !== null && line !== but);
    return cellsOf(box).every((cell) => (this.cells.get(cell) ?? []).every((of) => !isInWay(of.line) || !meet(box, of.box)));
  }
}

function cellsOf({ x, y, width, height }: Box): string[] {
  const cells: string[] = [];
  for (let column = Math.floor(x / CELL); column <= Math.floor((x + width) / CELL); column++) {
    for (let row = Math.floor(y / CELL); row <= Math.floor((y + height) / CELL); row++) cells.push(`${column} ${row}`);
  }
  return cells;
}

function meet(one: Box, other: Box): boolean {
  return one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y < one.y + one.height;
}
