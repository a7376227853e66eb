// The data embedded in the page: compressed batches, each read when it is first needed.

import type { Contexts } from "./contexts";
import { memoize } from "./memoize";
import type { Source } from "./source";
import type { Details, Instance, Order, Overview } from "./types";
import type { Workload } from "./workload";

/** Reverses the encoding of `report/src/html.rs`: base 64, gzip, JSON. */
export async function piece<Value>(name: string): Promise<Value> {
  const element = document.getElementById(name);
  if (!element?.textContent) throw new Error(`this page has no data of the name ${name}; write it again`);
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

const compare: Record<Order, (one: Instance, other: Instance) => number> = {
  time: (one, other) => one.at - other.at,
  slowest: (one, other) => other.duration - one.duration,
  likely: (one, other) => other.probability - one.probability,
};

export function embedded(): Source {
  const overview = memoize((_: 0) => piece<Overview>("overview"));
  const group = memoize((number: number) => piece<Details[]>(`details-${number}`));
  const details = async (rank: number): Promise<Details> => {
    const size = (await overview(0)).group;
    const found = (await group(Math.floor(rank / size)))[rank % size];
    if (!found) throw new Error(`this page has no pattern at rank ${rank + 1}`);
    return found;
  };
  const contexts = memoize((_: 0) => piece<Contexts>("contexts"));
  const workload = memoize((_: 0) => piece<Workload>("workload"));
  const ordered = async (rank: number, order: Order) => (await details(rank)).instances.toSorted(compare[order]);
  return {
    overview: () => overview(0),
    details,
    async instances(rank, order) {
      const instances = await ordered(rank, order);
      return { from: 0, all: instances.length, instances };
    },
    async place(rank, order, path) {
      const place = (await ordered(rank, order)).findIndex((instance) => instance.path === path);
      return place < 0 ? null : place;
    },
    contexts: () => contexts(0),
    workload: () => workload(0),
  };
}
