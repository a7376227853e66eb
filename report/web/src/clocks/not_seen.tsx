// The capture gaps, at the top of the page: what could have been recorded and was not, so that a
// gap is not mistaken for silence.

import type { Overview } from "../data/types";
import { count } from "../format";
import { tab } from "../state";

/** Gaps that are named; on a phone only the first. A tab has all. */
const NAMED = 3;

export function NotSeen({ overview }: { overview: Overview }) {
  const { notes } = overview;
  if (notes.length === 0) return null;
  return (
    <p class="not-seen" role="note">
      <b>Not seen:</b>
      {notes.slice(0, NAMED).map(({ label, count: number }) => (
        <span key={label}>
          <b>{count(number)}</b> {label}
        </span>
      ))}
      <button type="button" class="quiet" onClick={() => (tab.value = "clocks")}>
        {notes.length > 1 ? `all ${count(notes.length)}` : "whose?"}
      </button>
    </p>
  );
}
