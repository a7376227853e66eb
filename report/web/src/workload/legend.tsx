// What the colours of times mean.

import type { Way } from "./ways";

export function Ways({ ways }: { ways: Way[] }) {
  return (
    <ul class="legend ways" aria-label="Legend">
      {ways.map(({ css, name, means }) => (
        <li key={css} title={means}><span class={`key ${css}`} /> {name}</li>
      ))}
    </ul>
  );
}
