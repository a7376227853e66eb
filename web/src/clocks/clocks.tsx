// What nobody may trust: messages that were lost or not matched, peers that were not traced, and how far the clocks may be off.

import { useEffect, useRef } from "preact/hooks";
import type { Overview } from "../data/types";
import { count, plural } from "../format";

export function ClocksView({ overview }: { overview: Overview }) {
  const untraced = overview.map.nodes.filter((node) => !node.traced);
  return (
    <section aria-label="Clocks and holes">
      <h2>Could not be seen</h2>
      {overview.notes.length === 0 && untraced.length === 0 ? (
        <p class="lead">Every message has a sender and a receiver, nothing was lost, and every node was traced.</p>
      ) : (
        <p class="lead">What is missing here is missing everywhere in this page.</p>
      )}
      {overview.notes.length > 0 && (
        <ul class="notes">
          {overview.notes.map(({ label, count: number }) => (
            <li key={label}>
              <b>{count(number)}</b> {label}
            </li>
          ))}
        </ul>
      )}
      {untraced.length > 0 && (
        <>
          <h3>{plural(untraced.length, "node")} not traced</h3>
          <p class="lead">What they do between a message to them and the one that follows is one delay together with the network.</p>
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

/** The clocks, which the page has as markup. */
function Clocks() {
  const place = useRef<HTMLDivElement>(null);
  const template = document.getElementById("clocks");
  const content = template instanceof HTMLTemplateElement ? template.content : null;
  useEffect(() => {
    if (content) place.current?.replaceChildren(content.cloneNode(true));
  }, []);
  if (!content?.childElementCount) return <p class="lead">There is one clock only, so that no time had to be corrected.</p>;
  return <div ref={place} />;
}
