// Labels that do not fit into their elements are placed above or below them like flags, on as many
// lanes as necessary.

/** A label from `from` to `to` at a pole; the heaviest is placed first. */
export interface Flag {
  from: number;
  to: number;
  pole: number;
  weight: number;
}

/**
 * The lane of each flag, from 0; null for flags without room in any of `most` lanes. A flag hides
 * the poles of others. No flag crosses the lines at `walls`, which go through all lanes.
 */
export function lanes(flags: Flag[], most: number, walls: number[] = []): (number | null)[] {
  const order = flags.map((_, index) => index);
  order.sort((one, other) => (flags[other]?.weight ?? 0) - (flags[one]?.weight ?? 0) || one - other);
  const taken: [number, number][][] = Array.from({ length: most }, () => []);
  const placed: (number | null)[] = flags.map(() => null);
  for (const index of order) {
    const flag = flags[index];
    if (!flag || walls.some((wall) => wall > flag.from + 1 && wall < flag.to - 1)) continue;
    const free = (lane: number) => {
      // The flag itself, and its pole through the lanes below.
      const text = taken[lane]?.every(([from, to]) => flag.to < from || flag.from > to);
      const pole = taken.slice(0, lane).every((of) => of.every(([from, to]) => flag.pole < from || flag.pole > to));
      // The poles of flags above it are obstacles as well.
      const above = placed.every((other, which) => {
        const at = flags[which]?.pole ?? 0;
        return other === null || other <= lane || at < flag.from || at > flag.to;
      });
      return text && pole && above;
    };
    for (let lane = 0; lane < most; lane++) {
      if (!free(lane)) continue;
      placed[index] = lane;
      taken[lane]?.push([flag.from, flag.to]);
      break;
    }
  }
  return placed;
}
