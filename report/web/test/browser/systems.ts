// Synthetic systems that are so large or so odd that their pages are hard to draw.

/** A repeatable sequence of random numbers. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * A configuration of `sockcap synth`: a client, these numbers of front ends, services and stores,
 * and of kinds of requests, each of which calls this number of services one after the other, each
 * of which calls a store. Nodes take from 2 to 30 ms.
 */
export function tiers(fronts: number, services: number, stores: number, kinds: number, calls: number): string {
  const lines = ["seed = 3", 'delay = { mean = "4ms", deviation = "1ms" }', 'network = { exponential = "200us" }'];
  for (let kind = 0; kind < kinds; kind++) {
    const front = kind % fronts;
    const messages = [`{ from = "client", to = "front-${front}", name = "request", delay = "0ms" }`];
    let last = "request";
    for (let call = 0; call < calls; call++) {
      const service = (kind * calls + call) % services;
      const store = (service * 3 + call) % stores;
      messages.push(
        `{ from = "front-${front}", to = "service-${service}", name = "s${call}", after = "${last}", delay = "${1 + (service % 5) * 3}ms" }`,
        `{ from = "service-${service}", to = "store-${store}", name = "d${call}", after = "s${call}" }`,
        `{ returns = "d${call}", after = "d${call}", name = "e${call}", delay = "${2 + (store % 4) * 9}ms" }`,
        `{ returns = "s${call}", after = "e${call}", name = "f${call}" }`,
      );
      last = `f${call}`;
    }
    messages.push(`{ returns = "request", after = "${last}" }`);
    lines.push(
      "[[tracelet]]", `name = "kind-${kind}"`, `instances = ${20 + ((kind * 7) % 40)}`, 'think = { min = "0s", max = "1s" }',
      `messages = [\n  ${messages.join(",\n  ")},\n]`,
    );
  }
  return `${lines.join("\n")}\n`;
}
