// Shares of the calls by what decided their causes, as words.

import type { Evidence } from "./data/types";

/** The kinds of evidence, each with its share of the calls in whole per cent; the smallest are <1%. */
export function shares({ decided }: Evidence): { kind: string; share: string }[] {
  const all = decided.reduce((sum, [, calls]) => sum + calls, 0);
  return decided.map(([kind, calls]) => {
    const share = (100 * calls) / all;
    return { kind, share: share < 0.5 ? "<1%" : `${share.toFixed(0)}%` };
  });
}
