// All response times of an operation as a histogram on a log axis, with bars composed of its
// contexts.

import type { Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Context, Operation } from "../data/contexts";
import { apart, count, duration, percent } from "../format";
import { step } from "../pattern/ticks";
import { context } from "../state";
import { outline, pile, scale, ticks } from "./scale";

/** Maximum numbers of labels of the axes. */
const [ACROSS, UP] = [9, 4];
/** The part of an axis at either end where a label would protrude. */
const EDGE = 0.06;

interface Props {
  operation: Operation;
  contexts: Context[];
  /** The colour of each context. */
  css: string[];
  /** The context under the pointer. */
  hovered: Signal<number | null>;
}

export function Stacked({ operation, contexts, css, hovered }: Props) {
  const { times, bins } = operation;
  const drawn = useMemo(() => {
    if (!times || !bins || times.histogram.length === 0) return null;
    return { ...pile(contexts.map((one) => one.times?.histogram ?? []), times.histogram), axis: scale(bins) };
  }, [times, bins, contexts]);
  if (!times || !drawn) return <p class="fine">There are too few response times for a distribution.</p>;
  const { layers, rest, most, axis } = drawn;
  const labels = ticks(axis, ACROSS);
  const high = most * 1.05;
  const bright = hovered.value ?? context.value;
  const facts = `from ${duration(times.min)} to ${duration(times.max)}, quartiles ${[times.q1, times.median, times.q3].map(duration).join(", ")}`;
  return (
    <div class="stacked card" role="img" aria-label={`Distribution of ${operation.name}: ${facts}`}>
      <div class="plane">
        {upwards(high / times.weight).map((share) => (
          <span key={share} class="level" style={{ bottom: `${((share * times.weight) / high) * 100}%` }}><span>{percent(share).replace(".0%", "%")}</span></span>
        ))}
        <svg viewBox={`0 0 ${axis.bins} 1`} preserveAspectRatio="none">
          {layers.map(({ bars, bases }, place) => {
            const one = contexts[place];
            return (
              one && (
                <path
                  key={one.id}
                  class={`layer ${css[place]} ${bright === null ? "" : bright === one.id ? "bright" : "dim"}`}
                  d={outline(bars, bases, high)}
                  onMouseEnter={() => (hovered.value = one.id)}
                  onMouseLeave={() => (hovered.value = null)}
                  onClick={() => (context.value = one.id)}
                >
                  <title>{`${one.name}: ${count(one.count)} calls, mean ${duration(one.times?.mean)}`}</title>
                </path>
              )
            );
          })}
          <path class={`layer others ${bright === null ? "" : "dim"}`} d={outline(rest.bars, rest.bases, high)} />
          {[times.q1, times.median, times.q3].map((time, which) => {
            const x = axis.place(time) * axis.bins;
            return <line key={which} class="quartile" x1={x} x2={x} y1="0" y2="1" />;
          })}
        </svg>
      </div>
      <Axis labels={labels} place={axis.place} />
    </div>
  );
}

/** The labels below a drawing. */
export function Axis({ labels, place }: { labels: number[]; place: (time: number) => number }) {
  const apartBy = step(labels);
  return (
    <span class="axis" aria-hidden="true">
      {labels.map((at) => {
        const from = place(at);
        return (
          <span key={at} class={from < EDGE ? "first" : from > 1 - EDGE ? "last" : ""} style={{ left: `${from * 100}%` }}>
            {apart(at, apartBy)}
          </span>
        );
      })}
    </span>
  );
}

/** Round shares below `high`. */
export function upwards(high: number): number[] {
  const step = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((step) => high / step <= UP) ?? 0.5;
  return Array.from({ length: Math.floor(high / step) }, (_, which) => (which + 1) * step);
}
