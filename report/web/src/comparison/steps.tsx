// The steps of both sides in one table, including steps that exist on one side only.

import type { Place } from "../data/comparison";
import { breakable, count, duration, plural } from "../format";
import { type Compared, isEmpty, type Marked, marksOf, type Side } from "./changes";
import { listed } from "./listed";
import { whole } from "./state";
import { GLYPH } from "./timelines";
import { both, MARK, operation, signed } from "./words";

/** Rows at most. */
const MOST = 500;

export function Steps({ compared }: { compared: Compared }) {
  const { before, after, pairs } = compared;
  const rows = listed(compared, whole.value);
  const marks = { before: marksOf(compared, "before"), after: marksOf(compared, "after") };
  const isAll = rows.length === pairs.length;
  const place = (side: Side, at: number | null): Place | undefined => (at === null || isEmpty(side) ? undefined : side.tree.places[at]);
  return (
    <section>
      <h3>
        Steps <span class="soft">mean times on the critical path, which add up to the response time</span>
      </h3>
      <div class="scroll card" tabIndex={0} role="region" aria-label="Steps">
        <table class="compared-steps">
          <caption class="visually-hidden">The steps of both sides, each below the one that calls it</caption>
          <thead>
            <tr>
              <th scope="col">step</th>
              <th scope="col" class="number">itself</th>
              <th scope="col" class="number">on the way</th>
              <th scope="col" class="number">change</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MOST).map(({ before: one, after: other }) => {
              const [was, is] = [place(before, one), place(after, other)];
              const shown = is ?? was;
              if (!shown) return null;
              const here = [...(one === null ? [] : (marks.before.get(one) ?? [])), ...(other === null ? [] : (marks.after.get(other) ?? []))];
              const of = (...whats: Marked["what"][]) => here.find(({ what }) => whats.includes(what));
              const alone = of("added", "lost");
              const times = (key: "own_ns" | "network_ns"): [number | null, number | null] => [was ? was[key][before.period] : null, is ? is[key][after.period] : null];
              const change = sum(is, after.period) - sum(was, before.period);
              return (
                <tr key={`${one} ${other}`} class={alone?.css ?? ""}>
                  <th scope="row">
                    <span class="name" style={{ paddingLeft: `${Math.min(shown.depth, 12) * 14}px` }}>
                      {alone && <b class="glyph">{GLYPH[alone.what]} <span class="visually-hidden">{alone.what === "added" ? "only after: " : "only before: "}</span></b>}
                      {breakable(operation(shown))}
                      {shown.failed && <span class="badge">fails</span>}
                      {shown.repeated && <span class="badge plain">several times</span>}
                      {shown.concurrent && <span class="badge plain" title="It runs at the same time as the one before">at once</span>}
                    </span>
                  </th>
                  <Times label="itself" times={times("own_ns")} mark={of("own")} />
                  <Times label="on the way" times={times("network_ns")} mark={of("network")} />
                  <td class="number change" data-label="change">{signed(change)}</td>
                </tr>
              );
            })}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">all {count(pairs.length)} steps</th>
              <td class="number" colspan={2}>{isEmpty(before) ? duration(total(after)) : both([total(before), total(after)])}</td>
              <td class="number">{signed(total(after) - total(before))}</td>
            </tr>
          </tfoot>
        </table>
      </div>
      {rows.length > MOST && <p class="fine">{plural(rows.length - MOST, "further step")} left out.</p>}
      {(whole.value || !isAll) && (
        <button type="button" class="quiet" aria-pressed={whole.value} onClick={() => (whole.value = !whole.value)}>
          {whole.value ? "only the changed ones" : `all ${plural(pairs.length, "step")} ( a )`}
        </button>
      )}
    </section>
  );
}

function sum(place: Place | undefined, period: 0 | 1): number {
  return place ? place.own_ns[period] + place.network_ns[period] : 0;
}

function total({ tree: { places }, period }: Side): number {
  return places.reduce((all, place) => all + sum(place, period), 0);
}

function Times({ label, times, mark }: { label: string; times: [number | null, number | null]; mark: Marked | undefined }) {
  const isNone = times.every((time) => !time);
  const [was, is] = times;
  return (
    <td class={`number ${mark?.css ?? ""} ${isNone ? "none" : ""}`} data-label={label}>
      {mark && <b class="glyph">{MARK[mark.css]} </b>}
      {isNone ? "–" : was === null || is === null ? duration(was ?? is) : both(times)}
    </td>
  );
}
