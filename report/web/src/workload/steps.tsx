// The steps of a request: one bar each from its begin to its end, split by resource.

import type { Example, Step } from "../data/workload";
import { duration, plural, tick } from "../format";
import { ticks } from "../pattern/timeline";
import { Ways } from "./legend";
import { Split } from "./split";
import { occurring } from "./ways";

/** Maximum level of indentation. */
const DEEPEST = 12;

export function Steps({ example }: { example: Example }) {
  const { steps, time, left } = example;
  const depths = depthsOf(steps);
  const at = (one: number) => (time > 0 ? `${(one / time) * 100}%` : "0");
  const round = ticks(time);
  return (
    <section>
      <h3>Steps <span class="soft">each from its begin to its end, and what it did in between; when it did which is below</span></h3>
      <ol class="split-steps card">
        {steps.map((step, place) => (
          <li key={place}>
            <span class="who" style={{ paddingLeft: `${Math.min(depths[place] ?? 0, DEEPEST) * 14}px` }}>{step.name}</span>
            <span class="track">
              {step.time && (
                <span class="stretch" style={{ left: at(step.time[0]), width: at(step.time[1] - step.time[0]) }}>
                  {step.spent ? <Split spent={step.spent} of={step.name} /> : <span class="split not-recorded" role="img" aria-label={`${step.name}: not recorded`} title="What it did was not recorded" />}
                </span>
              )}
            </span>
            <span class="number">{step.time ? duration(step.time[1] - step.time[0]) : "–"}</span>
          </li>
        ))}
        <li class="scale" aria-hidden="true">
          <span />
          <span class="axis">
            {round.map((one, place) => (
              <span key={one} class={place === 0 ? "first" : one > time * 0.94 ? "last" : ""} style={{ left: at(one) }}>{tick(one)}</span>
            ))}
          </span>
          <span />
        </li>
      </ol>
      <Ways ways={occurring(steps.flatMap(({ spent }) => (spent ? [spent] : [])))} />
      {left > 0 && <p class="fine">{plural(left, "further step")} not part of this page.</p>}
    </section>
  );
}

/** The depth of each step below the root. */
export function depthsOf(steps: Step[]): number[] {
  const depths: number[] = [];
  for (const { parent } of steps) depths.push(parent === null ? 0 : (depths[parent] ?? 0) + 1);
  return depths;
}
