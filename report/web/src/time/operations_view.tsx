// Operations: a row for each operation with its calls and errors, and the course of the selected
// one.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Operations, Overview } from "../data/types";
import { breakable, duration, expected, percent, plural } from "../format";
import { asked } from "../state";
import { Chart } from "../chart";
import { callOptions, shareOptions } from "./options";
import { charts, type OperationRow, requests, rowsOf, spark } from "./operations";
import { FEW, PATTERN_SLICES } from "./series";

/** Initial number of rows. */
const SHOWN = 15;

export function OperationsView({ overview, operations }: { overview: Overview; operations: Operations }) {
  const rows = useMemo(() => rowsOf(overview), [overview]);
  const chosen = rows.find(({ place }) => place === asked.value);
  const series = useMemo(() => (chosen ? (operations.series[chosen.place] ?? []) : requests(operations)), [operations, chosen]);
  const drawn = useMemo(() => charts(series, operations.step), [series, operations]);
  const title = chosen ? `${chosen.node} ${chosen.name}` : "All requests";
  return (
    <>
      <figure class="card errors-over-time">
        <figcaption>
          <b>{breakable(title)}</b> <span class="soft">calls and errors, in slices of {duration(drawn.step)}</span>
        </figcaption>
        <Chart label={`Calls and errors over time: ${title}`} height={150} data={drawn.calls} options={callOptions} />
        <Chart label={`Share of errors over time: ${title}`} height={140} data={drawn.share} options={shareOptions} />
        <ul class="legend" aria-label="Legend">
          <li><span class="key bars" /> calls</li>
          <li><span class="key failed" /> failed</li>
          <li><span class="key failing" /> share that failed</li>
          {drawn.share[2]?.some((share) => share !== null) && <li><span class="key few" /> share of fewer than {FEW} answers</li>}
        </ul>
      </figure>
      <Table rows={rows} operations={operations} />
    </>
  );
}

function Table({ rows, operations }: { rows: OperationRow[]; operations: Operations }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? rows : rows.slice(0, SHOWN);
  return (
    <div class="scroll card">
      <table class="operations">
        <caption class="visually-hidden">Operations</caption>
        <thead>
          <tr>
            <th scope="col">operation <span class="soft">choose one for its course</span></th>
            <th scope="col" class="number">calls</th>
            <th scope="col" class="number">errors</th>
            <th scope="col" class="number">share</th>
            <th scope="col" class="wide">over time</th>
          </tr>
        </thead>
        <tbody>{shown.map((row) => <Row key={row.place} row={row} series={operations.series[row.place] ?? []} />)}</tbody>
      </table>
      {shown.length < rows.length && (
        <p class="fine">
          <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>{plural(rows.length - shown.length, "more operation")}</button>
        </p>
      )}
      {operations.omitted > 0 && <p class="fine">{plural(operations.omitted, "further operation")}, those with the fewest errors, are left out.</p>}
    </div>
  );
}

function Row({ row, series }: { row: OperationRow; series: number[] }) {
  const { place, name, node, root, calls, errors, share } = row;
  const isChosen = asked.value === place;
  const { calls: all, errors: failed } = spark(series);
  return (
    <tr class={isChosen ? "open" : ""}>
      <th scope="row">
        <button type="button" class="quiet" data-asked={place} aria-pressed={isChosen} onClick={() => (asked.value = isChosen ? null : place)}>
          <span class="soft">{root ? "→ " : ""}{breakable(node)}</span> <b>{name}</b>
        </button>
      </th>
      <td class="number">{expected(calls)}</td>
      <td class={`number ${errors > 0 ? "error" : ""}`}>{share === null ? "–" : expected(errors)}</td>
      <td class={`number ${errors > 0 ? "error" : ""}`}>{share === null ? "–" : percent(share)}</td>
      <td class="wide">
        <svg class="spark" viewBox={`0 0 ${PATTERN_SLICES} 1`} preserveAspectRatio="none" aria-hidden="true">
          <path class="all" d={all} />
          <path class="failed" d={failed} />
        </svg>
      </td>
    </tr>
  );
}
