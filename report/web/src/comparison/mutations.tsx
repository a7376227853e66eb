// The ranked mutations, with the selected one next to them.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Comparison, ComparisonSource, Mutation, MutationRow } from "../data/comparison";
import { breakable, count, duration, plural } from "../format";
import { Rows } from "../rows";
import { MutationView } from "./mutation";
import { BY, listed } from "./rank";
import { choose, mutation, query, type Rank, rank } from "./state";
import { both, kindOf, MARK, operation, requests, signed } from "./words";

interface Props {
  source: ComparisonSource;
  comparison: Comparison;
}

export function Mutations({ source, comparison }: Props) {
  const rows = comparison.mutations;
  const places = useMemo(() => listed(rows, rank.value, query.value), [rows, rank.value, query.value]);
  const chosen = mutation.value === null ? places[0] : mutation.value - 1;
  const isMissing = chosen !== undefined && !rows[chosen];
  const most = useMemo(() => Math.max(1, ...rows.map(({ contribution_ns }) => Math.abs(contribution_ns))), [rows]);
  if (rows.length === 0) return <p class="fine" role="status">No category of requests takes another time, or is more frequent than before, beyond what chance explains.</p>;
  const pick = (place: number) => {
    const next = places[place];
    if (next !== undefined) choose(next + 1);
  };
  return (
    <div class={mutation.value === null ? "mutations" : "mutations chosen"}>
      <div class="panes">
        <section class="list" aria-label="Mutations">
          <div class="tools">
            <label class="search">
              <span class="visually-hidden">Search mutations</span>
              <input
                type="search"
                placeholder="Search ( / )"
                value={query.value}
                onInput={(event) => (query.value = event.currentTarget.value)}
                onKeyDown={(event) => {
                  if (event.key !== "ArrowDown" && event.key !== "Enter") return;
                  event.preventDefault();
                  document.getElementById("mutations")?.focus();
                  if (mutation.value === null) pick(0);
                }}
              />
            </label>
            <label>
              rank by
              <select value={rank.value} onChange={(event) => (rank.value = event.currentTarget.value as Rank)}>
                {Object.entries(BY).map(([key, { label }]) => <option key={key} value={key}>{label}</option>)}
              </select>
            </label>
            <output>{places.length === rows.length ? plural(rows.length, "mutation") : `${count(places.length)} of ${plural(rows.length, "mutation")}`}</output>
          </div>
          <Rows
            id="mutations"
            rowId="mutation"
            label="Mutations by rank"
            count={places.length}
            chosen={chosen === undefined ? -1 : places.indexOf(chosen)}
            choose={pick}
            row={(place) => {
              const at = places[place] ?? 0;
              const row = rows[at];
              return row && <Row row={row} number={at + 1} most={most} />;
            }}
          />
          {places.length === 0 && <p class="fine" role="status">No mutation has all of these words.</p>}
        </section>
        <div class="pane">
          {mutation.value !== null && <button type="button" class="quiet back" onClick={() => choose(null)}>← all mutations</button>}
          {isMissing && <p class="error" role="alert">Mutation #{mutation.value} is not part of this page.</p>}
          {chosen !== undefined && !isMissing && <Loaded key={chosen} source={source} comparison={comparison} at={chosen} />}
        </div>
      </div>
    </div>
  );
}

function Row({ row, number, most }: { row: MutationRow; number: number; most: number }) {
  const { word, css } = kindOf(row);
  const [before, after] = row.counts;
  return (
    <>
      <span class="rank">#{number}</span>
      <span class="path">
        <b>{breakable(operation(row))} <span class="soft">{plural(row.steps, "step")}</span></b>
        <small>
          <span class={css}>{MARK[css]} {word}</span> ·{" "}
          {before > 0 && after > 0 ? both(row.mean_ns) : duration(row.mean_ns[after > 0 ? 1 : 0])} · {requests(before)} → {requests(after)}×
        </small>
      </span>
      <span
        class={`metric ${row.contribution_ns < 0 ? "less" : ""}`}
        title="Its contribution to the change of the sum of all response times of the second period"
        style={{ "--share": `${(Math.abs(row.contribution_ns) / most) * 100}%` }}
      >
        {signed(row.contribution_ns)}
      </span>
    </>
  );
}

function Loaded({ source, comparison, at }: Props & { at: number }) {
  const [found, setFound] = useState<Mutation | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    let isWanted = true;
    source.mutation(at).then(
      (mutation) => isWanted && setFound(mutation),
      (error: Error) => isWanted && setFailed(error.message),
    );
    return () => {
      isWanted = false;
    };
  }, [source, at]);
  if (failed) return <p class="error" role="alert">{failed}</p>;
  if (!found) return <p class="fine" role="status">Loading…</p>;
  return <MutationView comparison={comparison} mutation={found} number={at + 1} />;
}
