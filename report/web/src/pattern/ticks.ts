// The labels of a log axis.

/**
 * Round times from `low` to `high`, some of each decade; within less than a decade, about as many
 * in equal steps.
 */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  if (decades < 0.7) return evenTicks(low, high);
  const factors = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 3, 5, 7];
  const made: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const factor of factors) {
      const at = factor * 10 ** power;
      if (at >= low && at <= high) made.push(at);
    }
  }
  return made;
}

function evenTicks(low: number, high: number): number[] {
  const least = (high - low) / 6;
  if (!(least > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  const made: number[] = [];
  for (let number = Math.ceil(low / step); number * step <= high; number++) made.push(number * step);
  return made;
}

/** The smallest step between ticks. */
export function step(ticks: number[]): number {
  return ticks.slice(1).reduce((least, at, place) => Math.min(least, at - (ticks[place] ?? 0)), Infinity);
}
