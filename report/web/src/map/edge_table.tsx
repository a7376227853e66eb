// The edges of the map as a table, the ones with the most time first.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Overview } from "../data/types";
import { breakable, bytes, count, duration, plural, rate } from "../format";
import { between } from "./edges";

/** Initial number of rows. */
const SHOWN = 25;
/** Maximum number of rows; selecting a node shows its own. */
const MOST_ROWS = 300;

interface Props {
  overview: Overview;
  seconds: number;
  chosen: number | null;
}

export function EdgeTable({ overview, seconds, chosen }: Props) {
  const { names, map } = overview;
  const rows = useMemo(() => map.edges.toSorted((one, other) => between(other) - between(one)), [map]);
  const wanted = rows.filter((edge) => chosen === null || edge.from === chosen || edge.to === chosen);
  const isWhole = useSignal(false);
  const most = isWhole.value ? MOST_ROWS : SHOWN;
  if (rows.length === 0) return null;
  return (
    <div class="scroll card">
      <table class="edges">
        <caption class="visually-hidden">Who talks to whom</caption>
        <thead>
          <tr>
            <th scope="col">from</th>
            <th scope="col">to</th>
            <th scope="col" class="number">requests</th>
            <th scope="col" class="number wide">responses</th>
            <th scope="col" class="number">delay</th>
            <th scope="col" class="number wide">data</th>
          </tr>
        </thead>
        <tbody>
          {wanted.slice(0, most).map((edge) => (
            <tr key={`${edge.from} ${edge.to} ${edge.port} ${edge.protocol}`}>
              <th scope="row">{breakable(names[edge.from])}</th>
              <td>
                {breakable(names[edge.to])} <span class="soft">{names[edge.port] === "*" ? "" : names[edge.port]} {edge.protocol}</span>
              </td>
              <td class="number">{rate(edge.there / seconds)}</td>
              <td class="number wide">{rate(edge.back / seconds)}</td>
              <td class="number">{duration(edge.network ?? edge.untraced)}</td>
              <td class="number wide">{edge.bytes > 0 ? `${bytes(edge.bytes / seconds)}/s` : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {!isWhole.value && wanted.length > SHOWN && (
        <p class="fine">
          <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
            {plural(Math.min(wanted.length, MOST_ROWS) - SHOWN, "more edge")}
          </button>
        </p>
      )}
      {isWhole.value && wanted.length > MOST_ROWS && <p class="fine">{count(wanted.length - MOST_ROWS)} further edges, those with the least time, are left out.</p>}
    </div>
  );
}
