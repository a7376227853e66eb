// The requests of a class: their operations as a tree, with the step of the context marked.

import type { TraceClass } from "../data/contexts";
import { count, plural } from "../format";

interface Props {
  of: TraceClass;
  /** The marked step, from 0. */
  step: number;
  names: string[];
}

export function ClassTree({ of, step, names }: Props) {
  // Concurrent steps share a group; other steps have a group of their own.
  const members = new Map<number, number>();
  for (const [, , , group] of of.steps) members.set(group, (members.get(group) ?? 0) + 1);
  return (
    <details class="class" open>
      <summary>
        Class {of.number}: {plural(of.requests, "request")} of {plural(of.steps.length + of.left, "step")}, begun by {of.caller}
      </summary>
      <ol class="steps">
        {of.steps.map(([depth, name, times, group], place) => (
          <li key={place} aria-current={place === step ? "step" : undefined} style={{ paddingLeft: `${Math.min(depth, 16) * 16}px` }}>
            <span class="number">{place}</span>
            <span>
              {names[name]}
              {times > 1 && <span class="soft"> ×{count(times)} at once</span>}
              {times === 1 && (members.get(group) ?? 0) > 1 && <span class="soft" title="It runs at the same time as others of the same caller"> ∥</span>}
            </span>
          </li>
        ))}
      </ol>
      {of.left > 0 && <p class="fine">{plural(of.left, "further step")} not part of this page{step >= of.steps.length ? `, the one of this context (${step}) among them` : ""}.</p>}
    </details>
  );
}
