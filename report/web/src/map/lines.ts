// The lines of the map: each leaves its node at a point of its own and arrives at one of its own,
// level with it, so that its arrowhead is fully visible. All coordinates here go from left to
// right; a map from top to bottom is rotated afterwards.

export interface Point {
  x: number;
  y: number;
}

/** A placed node. */
interface Box extends Point {
  width: number;
  height: number;
}

export interface Line {
  /** The number of the line. */
  index: number;
  /** A curve by its points: the first, then two handles and a point, and so on. */
  points: Point[];
  /** The corners of the arrowhead. */
  tip: Point[];
}

export interface Wanted {
  index: number;
  from: Box | undefined;
  to: Box | undefined;
  /** The points that dagre routes it through. */
  through: Point[];
}

const TIP = { length: 9, half: 4 };
/** Distance between an arrowhead and its node. */
const GAP = 2;

/** The lines; around their middle they are level for `level` on both sides, so that there is room for a label. */
export function lines(wanted: Wanted[], level: number): Line[] {
  const ends = new Ends();
  for (const { index, from, to, through } of wanted) {
    const [second, last] = [through[1], through[through.length - 2]];
    if (!from || !to || !second || !last || from === to) continue;
    ends.add(from, second.x >= from.x, { line: index, isBegin: true, towards: second.y });
    ends.add(to, last.x >= to.x, { line: index, isBegin: false, towards: last.y });
  }
  return wanted.flatMap(({ index, from, to, through }) => {
    if (!from || !to) return [];
    if (from === to) return [loop(index, from)];
    const [begin, end] = [ends.at(index, true), ends.at(index, false)];
    if (!begin || !end) return [];
    const arrival = end.side;
    const foot = { x: end.x + arrival * (GAP + TIP.length), y: end.y };
    const inner = through.slice(1, -1);
    const middle = Math.floor(inner.length / 2);
    const direction = Math.sign(foot.x - begin.x) || 1;
    const stops = inner.flatMap((at, place) =>
      place === middle && level > 0 ? [{ x: at.x - direction * level, y: at.y }, { x: at.x + direction * level, y: at.y }] : [at],
    );
    return [{ index, points: smooth([begin, ...stops, foot]), tip: tip(foot, -arrival) }];
  });
}

/** An arrowhead that stands on `foot` and points along the axis in `direction`. */
function tip(foot: Point, direction: number): Point[] {
  return [
    { x: foot.x, y: foot.y - TIP.half },
    { x: foot.x + direction * TIP.length, y: foot.y },
    { x: foot.x, y: foot.y + TIP.half },
  ];
}

/** A curve through the points that is level at each of them. */
function smooth(stops: Point[]): Point[] {
  const [first, ...rest] = stops;
  if (!first) return [];
  let before = first;
  return [first].concat(
    rest.flatMap((at) => {
      const half = (at.x - before.x) / 2;
      const piece = [{ x: before.x + half, y: before.y }, { x: at.x - half, y: at.y }, at];
      before = at;
      return piece;
    }),
  );
}

/** A line from a node to itself: from its right side, above it, to its left side. */
function loop(index: number, box: Box): Line {
  const [right, left] = [box.x + box.width / 2, box.x - box.width / 2 - GAP - TIP.length];
  const up = box.y - box.height / 2 - 12;
  const points = [
    { x: right, y: box.y }, { x: right + 24, y: box.y }, { x: right + 14, y: up }, { x: box.x, y: up },
    { x: left - 14, y: up }, { x: left - 24, y: box.y }, { x: left, y: box.y },
  ];
  return { index, points, tip: tip({ x: left, y: box.y }, 1) };
}

interface End {
  line: number;
  isBegin: boolean;
  /** The height of the line at its next point. */
  towards: number;
}

/** Ends of lines: separate points on each side of a node, in the order of the lines. */
class Ends {
  private sides = new Map<Box, [End[], End[]]>();

  add(box: Box, isRight: boolean, end: End): void {
    const sides = this.sides.get(box) ?? [[], []];
    sides[isRight ? 1 : 0].push(end);
    this.sides.set(box, sides);
  }

  /** The start or end of a line, and the side of its node: -1 or 1. */
  at(line: number, isBegin: boolean): (Point & { side: number }) | null {
    for (const [box, sides] of this.sides) {
      for (const [right, ends] of sides.entries()) {
        const sorted = ends.toSorted((one, other) => one.towards - other.towards || one.line - other.line);
        const place = sorted.findIndex((end) => end.line === line && end.isBegin === isBegin);
        if (place < 0) continue;
        const room = box.height - 8;
        const step = Math.min(11, room / sorted.length);
        const side = right ? 1 : -1;
        return { x: box.x + (side * box.width) / 2, y: box.y + (place - (sorted.length - 1) / 2) * step, side };
      }
    }
    return null;
  }
}

/** The curve in SVG syntax. */
export function path(points: Point[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${at(first)}${rest.map((point, place) => (place % 3 === 0 ? `C${at(point)}` : ` ${at(point)}`)).join("")}`;
}

/** Points on the curve, close to each other. */
export function along(points: Point[], every = 4): Point[] {
  const found: Point[] = points.slice(0, 1);
  for (let at = 0; at + 3 < points.length; at += 3) {
    const [a, b, c, d] = points.slice(at, at + 4) as [Point, Point, Point, Point];
    const steps = Math.max(2, Math.ceil((Math.abs(d.x - a.x) + Math.abs(d.y - a.y)) / every));
    for (let step = 1; step <= steps; step++) {
      const t = step / steps;
      const of = (k: "x" | "y") => (1 - t) ** 3 * a[k] + 3 * (1 - t) ** 2 * t * b[k] + 3 * (1 - t) * t * t * c[k] + t ** 3 * d[k];
      found.push({ x: of("x"), y: of("y") });
    }
  }
  return found;
}
