// Unusual requests, each with the reason.

import type { Workload } from "../data/workload";
import { count, plural } from "../format";
import { chooseRequest } from "../state";

export function UnusualRequests({ workload }: { workload: Workload }) {
  const { unusual, unusual_left, examples, command } = workload;
  if (unusual.length === 0) return null;
  const isThere = (request: number) => examples.some((one) => one.request === request);
  return (
    <section>
      <h2>
        {plural(unusual.length + unusual_left, "unusual request")} <span class="soft">alone or few, and far from all others in what they demand</span>
      </h2>
      <ul class="unusual">
        {unusual.map(({ request, name, what }) => (
          <li key={request}>
            {isThere(request) ? (
              <button type="button" class="quiet" data-unusual={request} onClick={() => chooseRequest(request)}>Request {count(request)}</button>
            ) : (
              <span>Request {count(request)}</span>
            )}{" "}
            <b>{name}</b> {what}
          </li>
        ))}
      </ul>
      {unusual_left > 0 && <p class="fine">{count(unusual_left)} more are not part of this page: <code>{command}</code></p>}
    </section>
  );
}
