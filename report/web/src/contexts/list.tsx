// The ranked operations, each with the share of its standard deviation that the kinds of contexts
// explain.

import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Contexts, LEVELS, type Operation } from "../data/contexts";
import { count, duration, percent, plural } from "../format";
import { chooseOperation } from "../state";
import { parts, type Rank, RANKS } from "./rank";

/** Number of rows that page up and page down move by. */
const PAGE = 8;

interface Props {
  contexts: Contexts;
  operations: Operation[];
  chosen: Operation | undefined;
  rank: Signal<Rank>;
  query: Signal<string>;
}

export function OperationList({ contexts, operations, chosen, rank, query }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const place = chosen ? operations.indexOf(chosen) : -1;
  // The selected row is scrolled into view.
  useEffect(() => {
    const [all, row] = [list.current, document.getElementById(`operation-${place}`)];
    if (!all || !row) return;
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
    if (top < all.scrollTop) all.scrollTop = top;
    else if (bottom > all.scrollTop + all.clientHeight) all.scrollTop = bottom - all.clientHeight;
  }, [place, operations]);
  const move = (by: number) => {
    const next = operations[Math.min(Math.max(place + by, 0), operations.length - 1)];
    if (next) chooseOperation(next.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -Infinity, End: Infinity,
    };
    const by = steps[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(by);
  };
  const all = contexts.operations.length;
  const hidden = contexts.operation_count - all;
  return (
    <section class="list" aria-label="Operations">
      <div class="tools">
        <label class="search">
          <span class="visually-hidden">Search operations</span>
          <input
            type="search"
            placeholder="Search ( / )"
            value={query.value}
            onInput={(event) => (query.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown" || event.key === "Enter") {
                event.preventDefault();
                list.current?.focus();
                if (place < 0) move(1);
              }
            }}
          />
        </label>
        <label>
          rank by
          <select value={rank.value} onChange={(event) => (rank.value = event.currentTarget.value as Rank)}>
            {Object.entries(RANKS).map(([key, { label }]) => <option key={key} value={key}>{label}</option>)}
          </select>
        </label>
        <output>{operations.length === all ? plural(all, "operation") : `${count(operations.length)} of ${plural(all, "operation")}`}</output>
      </div>
      <div
        id="operations"
        class="rows"
        role="listbox"
        aria-label="Operations by rank"
        tabIndex={0}
        aria-activedescendant={place >= 0 ? `operation-${place}` : undefined}
        ref={list}
        onKeyDown={onKeyDown}
      >
        {operations.map((one, which) => <Row key={one.id} operation={one} place={which} isChosen={one === chosen} />)}
      </div>
      {operations.length === 0 && <p class="fine" role="status">No operation has all of these words.</p>}
      <ul class="legend" aria-label="Legend">
        <li><span class="key explained" /> explained by context</li>
        <li><span class="key chance" /> as much as chance explains</li>
      </ul>
      {hidden > 0 && <p class="fine">{count(hidden)} further operations, of which context explains less, are not part of this page: <code>{contexts.commands.contexts}</code></p>}
    </section>
  );
}

function Row({ operation, place, isChosen }: { operation: Operation; place: number; isChosen: boolean }) {
  const { times } = operation;
  return (
    <div
      id={`operation-${place}`}
      class="row"
      role="option"
      aria-selected={isChosen}
      onClick={() => chooseOperation(operation.id)}
    >
      <span class="path">
        <b>{operation.name}</b>
        <small>
          {count(operation.count)}×
          {times ? ` · mean ${duration(times.mean)} · sd ${duration(times.deviation)}` : " · no response time"}
          {times?.modes ? ` · ${plural(times.modes, "mode")}` : ""}
        </small>
      </span>
      <span class="explains">
        {LEVELS.map((level) => {
          const [sure, chance] = parts(operation.explained[level]);
          return (
            <span key={level} class="line" title={`${level}-context explains ${percent(sure + chance)}, ${percent(chance)} of that as chance would`}>
              <span class="of">{level}</span>
              <Bar sure={sure} chance={chance} />
              <span class="visually-hidden"> explains {percent(sure + chance)}</span>
            </span>
          );
        })}
      </span>
    </div>
  );
}

/** A share in its two parts. */
export function Bar({ sure, chance }: { sure: number; chance: number }) {
  return (
    <span class="share" aria-hidden="true">
      <span class="explained" style={{ width: `${sure * 100}%` }} />
      <span class="chance" style={{ width: `${chance * 100}%` }} />
    </span>
  );
}
