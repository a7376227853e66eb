// Nodes and edges of the map as tables, the ones with the largest change first.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Change, MapEdge, MapNode, Pair } from "../data/comparison";
import { breakable, plural } from "../format";
import { OUTSIDE, state } from "./drawing";
import { both, MARK, signed } from "./words";

/** Initial and maximum number of rows. */
const [SHOWN, MOST] = [12, 300];

function calls([before, after]: Pair): string {
  const one = (calls: number) => (calls === 0 ? "0" : calls < 0.01 ? "<0.01" : calls.toFixed(2));
  return one(before) === one(after) ? one(after) : `${one(before)} → ${one(after)}`;
}

/** The change of the time of a request. */
function change(edge: MapEdge): number {
  const [before, after] = edge.network_ns;
  return (after ?? 0) * edge.calls[1] - (before ?? 0) * edge.calls[0];
}

const WORDS: Record<Change, string> = { worse: "worse", better: "better", other: "other calls" };

/** A change, in a cell. */
function Changed({ of, also }: { of: Change | null; also?: string }) {
  return <td class="wide">{of && WORDS[of]} {also}</td>;
}

/** The mark of the change, before a name. */
function Glyph({ of }: { of: Change | null }) {
  return of && <b class={`glyph ${of}`} title={WORDS[of]}>{MARK[of]}&nbsp;</b>;
}

export function NodeTable({ nodes, chosen }: { nodes: MapNode[]; chosen: string | null }) {
  const by = ({ own_ns: [before, after] }: MapNode) => after - before;
  const rows = nodes
    .filter(({ node }) => chosen === null || node === chosen)
    .toSorted((one, other) => Number(Boolean(other.changed)) - Number(Boolean(one.changed)) || Math.abs(by(other)) - Math.abs(by(one)));
  return (
    <Table caption="Nodes" head={["node", "runs for a request", "itself, for a request", "change", ""]} of={rows}>
      {(node) => (
        <tr key={node.node}>
          <th scope="row"><Glyph of={node.changed} />{breakable(node.node) || "?"}</th>
          <td class="number wide">{calls(node.executions)}</td>
          <td class="number">{both(node.own_ns)}</td>
          <td class="number wide">{signed(by(node))}</td>
          <Changed of={node.changed} />
        </tr>
      )}
    </Table>
  );
}

export function EdgeTable({ edges, chosen }: { edges: MapEdge[]; chosen: string | null }) {
  const rows = edges
    .filter(({ caller, node }) => chosen === null || caller === chosen || node === chosen)
    .toSorted((one, other) => Number(Boolean(other.changed)) - Number(Boolean(one.changed)) || Math.abs(change(other)) - Math.abs(change(one)));
  return (
    <Table caption="Calls between nodes" head={["from, to", "calls for a request", "on the way, a call", "change for a request", ""]} of={rows}>
      {(edge) => (
        <tr key={`${edge.caller} ${edge.node}`}>
          <th scope="row"><Glyph of={edge.changed} />{breakable(edge.caller) || OUTSIDE} → {breakable(edge.node) || "?"}</th>
          <td class="number wide">{calls(edge.calls)}</td>
          <td class="number">{edge.network_ns.every((time) => time === null) ? "–" : both(edge.network_ns)}</td>
          <td class="number wide">{edge.network_ns.every((time) => time === null) ? "–" : signed(change(edge))}</td>
          <Changed of={edge.changed} also={{ new: "only after", gone: "only before", "": "" }[state(edge)]} />
        </tr>
      )}
    </Table>
  );
}

interface TableProps<Row> {
  caption: string;
  head: string[];
  of: Row[];
  children: (row: Row) => ComponentChildren;
}

function Table<Row>({ caption, head, of, children }: TableProps<Row>) {
  const isWhole = useSignal(false);
  if (of.length === 0) return null;
  const most = isWhole.value ? MOST : SHOWN;
  return (
    <section>
      <h3>{caption}</h3>
      <div class="scroll card" tabIndex={0} role="region" aria-label={caption}>
        <table class="edges">
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>
              {head.map((name, at) => (
                <th key={name} scope="col" class={`${at > 0 && name ? "number" : ""} ${at === 1 || at > 2 ? "wide" : ""}`}>
                  {name || <span class="visually-hidden">what changed</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{of.slice(0, most).map(children)}</tbody>
        </table>
      </div>
      {of.length > SHOWN && (
        <button type="button" class="quiet" onClick={() => (isWhole.value = !isWhole.value)}>
          {isWhole.value ? "fewer" : `${plural(Math.min(of.length, MOST) - SHOWN, "more row")}`}
        </button>
      )}
    </section>
  );
}
