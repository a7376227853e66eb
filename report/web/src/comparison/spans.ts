// The geometry of a timeline of mean times: each step is a box on the row of its depth, as long as
// the step and the calls that it waits for; before and after the box are its call and response on
// the network. As these are times on the critical path, the whole is as long as the mean response
// time. It is not known when a step works between its calls: its own time is spread evenly.

import type { Place } from "../data/comparison";

export interface Span {
  place: number;
  depth: number;
  /**
   * Call and response on the network: from the sending of the call to the receipt of the response.
   */
  sent: number;
  answered: number;
  /** The step itself, with the calls that it waits for. */
  from: number;
  to: number;
  /** The times at which it works itself. */
  work: [from: number, to: number][];
}

export interface Spans {
  spans: Span[];
  /** The total duration. */
  total: number;
}

/** The timeline of the first period (0) or the second (1). */
export function spans(places: Place[], side: 0 | 1): Spans {
  const times = places.map((place) => ({ own: Math.max(0, place.own_ns[side]), network: Math.max(0, place.network_ns[side]), below: 0, calls: 0 }));
  const whole = (of: (typeof times)[number]) => of.own + of.network + of.below;
  // Steps below come before the steps above them, as the order is depth first.
  for (let number = places.length - 1; number >= 0; number--) {
    const [own, parent] = [times[number], times[places[number]?.parent ?? -1]];
    if (!own || !parent) continue;
    parent.below += whole(own);
    if (whole(own) > 0) parent.calls++;
  }
  const made: Span[] = [];
  let end = 0;
  places.forEach(({ parent, depth }, number) => {
    const own = times[number];
    if (!own) return;
    const above = parent === null ? undefined : made[parent];
    const gap = above ? (times[above.place]?.own ?? 0) / ((times[above.place]?.calls ?? 0) + 1) : 0;
    const isSeen = whole(own) > 0;
    const last = above ? (above.work.at(-1)?.[1] ?? above.from) : end;
    // The part of its parent's work that leads to it.
    const sent = above && isSeen ? last + gap : last;
    const from = sent + own.network / 2;
    const to = from + own.own + own.below;
    const answered = to + own.network / 2;
    made.push({ place: number, depth, sent, answered, from, to, work: own.calls === 0 && own.own > 0 ? [[from, to]] : [] });
    if (above && isSeen) {
      if (gap > 0) above.work.push([last, sent]);
      // The time at which the next step continues.
      above.work.push([answered, answered]);
    }
    if (!above) end = answered;
  });
  for (const span of made) {
    const last = span.work.at(-1)?.[1] ?? span.from;
    if (times[span.place]?.calls) span.work.push([last, span.to]);
    span.work = span.work.filter(([from, to]) => to > from);
  }
  return { spans: made, total: end };
}
