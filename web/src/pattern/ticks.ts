// Where the labels of a log axis stand.

/** Round times from `low` to `high`, each decade's or, where there are few, also those between. */
export function logTicks(low: number, high: number): number[] {
  const decades = Math.log10(high / low);
  const factors = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  const made: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const factor of factors) {
      const at = factor * 10 ** power;
      if (at >= low && at <= high) made.push(at);
    }
  }
  return made.length > 0 ? made : [low, high];
}
