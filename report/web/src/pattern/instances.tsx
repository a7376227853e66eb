// Single instances of a pattern, to step through: the start, duration and probability of each.

import { useEffect, useState } from "preact/hooks";
import type { Source } from "../data/source";
import type { Instance, InstancePage, Order } from "../data/types";
import { count, duration, percent } from "../format";
import { instance, order } from "../state";

const ORDERS: [Order, string][] = [["slowest", "slowest first"], ["time", "by time"], ["likely", "most likely first"]];

/** Number of instances on a screen. */
const SHOWN = 8;

interface Props {
  source: Source;
  rank: number;
  /** The number of instances of the pattern, of which a page on disk has only some. */
  built: number;
  show: (instance: Instance | null) => void;
}

export function InstancesView({ source, rank, built, show }: Props) {
  const [page, setPage] = useState<InstancePage | null>(null);
  const [failed, setFailed] = useState("");
  const at = instance.value;
  const first = Math.floor((at ?? 0) / SHOWN) * SHOWN;
  const isHere = page !== null && first >= page.from && (first < page.from + page.instances.length || page.from + page.instances.length >= page.all);

  useEffect(() => setPage(null), [rank, order.value]);
  useEffect(() => {
    if (isHere) return;
    let isWanted = true;
    // The server's batches are larger than a screen.
    source
      .instances(rank, order.value, Math.floor(first / 96) * 96)
      .then((found) => isWanted && (setFailed(""), setPage(found)))
      .catch((error: Error) => isWanted && setFailed(error.message));
    return () => {
      isWanted = false;
    };
  }, [source, rank, order.value, first, isHere]);

  const found = at !== null && isHere ? (page.instances[at - page.from] ?? null) : null;
  useEffect(() => {
    if (isHere || at === null) show(found);
  }, [found, isHere, at === null]);
  // An address may name one that does not exist.
  useEffect(() => {
    if (page && at !== null && at >= page.all) instance.value = page.all > 0 ? page.all - 1 : null;
  }, [page, at]);

  const all = page?.all ?? 0;
  // Another batch may be on its way.
  const listed = isHere ? page.instances.slice(first - page.from, first - page.from + SHOWN) : [];
  return (
    <section class="instances" aria-label="Instances">
      <div class="tools">
        <button type="button" disabled={at === null} onClick={() => (instance.value = null)}>average</button>
        <button type="button" aria-label="Previous instance" disabled={at === null || at === 0} onClick={() => step(-1, all)}>◀</button>
        <button type="button" aria-label="Next instance" disabled={all === 0 || (at ?? -1) >= all - 1} onClick={() => step(1, all)}>▶</button>
        <output>{at === null ? `${count(all)} to step through` : `${count(at + 1)} of ${count(all)}`}</output>
        <label>
          <span class="visually-hidden">Order of instances</span>
          <select
            value={order.value}
            onChange={(event) => {
              order.value = event.currentTarget.value as Order;
              if (instance.value !== null) instance.value = 0;
            }}
          >
            {ORDERS.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
          </select>
        </label>
      </div>
      {failed && <p class="error" role="alert">{failed}</p>}
      <ol class="rows" start={first + 1}>
        {listed.map((one, place) => (
          <li key={one.path}>
            <button type="button" aria-current={first + place === at ? "true" : undefined} onClick={() => (instance.value = first + place)}>
              <span>{duration(one.duration)}</span>
              <span class="soft">after {duration(one.at)}</span>
              <span class="probability" style={{ "--share": `${one.probability * 100}%` }}>{percent(one.probability)} likely</span>
            </button>
          </li>
        ))}
      </ol>
      {page && all < built && (
        <p class="fine">
          This page has {count(all)} of {count(built)} instances, the slowest among them. <code>sockcap view</code> has all.
        </p>
      )}
    </section>
  );
}

/** Goes to the next instance, or to the one before. */
export function step(by: number, all: number): void {
  const next = instance.value === null ? (by > 0 ? 0 : null) : instance.value + by;
  if (next !== null && next >= 0 && next < all) instance.value = next;
}
