// The data of `sockcap view`, requested batch by batch.

import type { Contexts } from "./contexts";
import { memoize } from "./memoize";
import type { Source } from "./source";
import type { Details, InstancePage, Order, Overview } from "./types";
import type { Workload } from "./workload";

async function ask<Value>(path: string): Promise<Value> {
  let answer: Response;
  try {
    answer = await fetch(path);
  } catch {
    throw new Error("sockcap view does not answer; was it ended?");
  }
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

export function served(): Source {
  const overview = memoize((_: 0) => ask<Overview>("api/overview"));
  const contexts = memoize((_: 0) => ask<Contexts>("api/contexts"));
  const workload = memoize((_: 0) => ask<Workload>("api/workload"));
  const group = memoize((number: number) => ask<Details[]>(`api/details/${number}`));
  return {
    overview: () => overview(0),
    async details(rank) {
      const size = (await overview(0)).group;
      const found = (await group(Math.floor(rank / size)))[rank % size];
      if (!found) throw new Error(`there is no pattern at rank ${rank + 1}`);
      return found;
    },
    instances: (rank: number, order: Order, from: number) =>
      ask<InstancePage>(`api/instances/${rank}?order=${order}&from=${from}`),
    async place(rank: number, order: Order, path: number) {
      return (await ask<{ place: number | null }>(`api/place/${rank}/${path}?order=${order}`)).place;
    },
    contexts: () => contexts(0),
    workload: () => workload(0),
  };
}
