// Limits of trust: messages that were lost or not matched, untraced peers, and how far the clocks
// may be off.

import { useEffect, useRef } from "preact/hooks";
import type { OneSided, Overview } from "../data/types";
import { breakable, bytes, count, plural } from "../format";

export function ClocksView({ overview }: { overview: Overview }) {
  const untraced = overview.map.nodes.filter((node) => !node.traced);
  const { notes, one_sided } = overview;
  return (
    <section class="holes" aria-label="Clocks and gaps">
      <h2>Could not be seen</h2>
      {notes.length === 0 && untraced.length === 0 ? (
        <p class="lead">Every message has a sender and a receiver, nothing was lost, and every node was traced.</p>
      ) : (
        <p class="lead">What is missing here is missing everywhere in this page.</p>
      )}
      {notes.length > 0 && (
        <ul class="notes">
          {notes.map(({ label, count: number }) => (
            <li key={label}>
              <b>{count(number)}</b> {label}
            </li>
          ))}
        </ul>
      )}
      {one_sided.between.length > 0 && <OneSidedTable {...one_sided} />}
      {untraced.length > 0 && (
        <>
          <h3>{plural(untraced.length, "node")} not traced</h3>
          <p class="lead">Their work between a message to them and the next one is one delay, together with the network.</p>
          <ul class="untraced">
            {untraced.slice(0, 200).map((node) => (
              <li key={node.name}>
                <span class="chip c-untraced" /> {overview.names[node.name]}
              </li>
            ))}
          </ul>
          {untraced.length > 200 && <p class="fine">and {count(untraced.length - 200)} more</p>}
        </>
      )}
      <Clocks />
    </section>
  );
}

function OneSidedTable({ messages, between }: Overview["one_sided"]) {
  const listed = between.reduce((sum, one) => sum + one.messages, 0);
  return (
    <>
      <h3>{plural(messages, "message")} seen at one end only</h3>
      <div class="scroll card">
        <table>
          <caption class="visually-hidden">Pairs of nodes with messages that were seen at one end only</caption>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">to</th>
              <th scope="col">not seen</th>
              <th scope="col" class="number">messages</th>
              <th scope="col" class="number wide">flows</th>
              <th scope="col" class="number wide">data</th>
            </tr>
          </thead>
          <tbody>
            {between.map((one) => (
              <tr key={`${one.from} ${one.to} ${one.protocol} ${one.missing} ${one.traced}`}>
                <th scope="row">{breakable(one.from)}</th>
                <td>
                  {breakable(one.to)} <span class="soft">{one.protocol}</span>
                </td>
                <td>{why(one)}</td>
                <td class="number">{count(one.messages)}</td>
                <td class="number wide">{count(one.flows)}</td>
                <td class="number wide">{bytes(one.bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {listed < messages && <p class="fine">{plural(messages - listed, "message")} between others.</p>}
    </>
  );
}

/** Which end is missing, and why. */
function why({ missing, traced }: OneSided): string {
  if (missing === "receipt") return traced ? "receipt: lost, or not read" : "receipt: receiver not traced";
  return traced ? "sending: no call was seen" : "sending: sender not traced";
}

/** The clocks, which are in the page as markup. */
function Clocks() {
  const place = useRef<HTMLDivElement>(null);
  const template = document.getElementById("clocks");
  const content = template instanceof HTMLTemplateElement ? template.content : null;
  useEffect(() => {
    if (content) place.current?.replaceChildren(content.cloneNode(true));
  }, []);
  if (!content?.childElementCount) return <p class="lead">There is only one clock, so no time had to be corrected.</p>;
  return <div ref={place} />;
}
