// What decided the causes of calls, at the top of the page: how much of the paths is known, how much
// is inferred, and what would be known with another recording.

import type { Evidence } from "./data/types";
import { shares } from "./evidence";
import { plural } from "./format";

export function EvidenceView({ evidence }: { evidence: Evidence }) {
  const calls = evidence.decided.reduce((sum, [, number]) => sum + number, 0);
  return (
    <>
      {calls > 0 && (
        <p class="decided">
          Causes of {plural(calls, "call")} by:
          {shares(evidence).map(({ kind, share }) => (
            <span key={kind}>
              {kind} <b>{share}</b>
            </span>
          ))}
        </p>
      )}
      {evidence.limits.map((limit) => <p key={limit} class="part" role="note">Inferred: {limit}</p>)}
    </>
  );
}
