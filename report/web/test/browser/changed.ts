// A shop to compare: web calls prices, stock and, in one period, a cache. The changes are known, so
// that a page can be checked for them.

import { numbers } from "./systems";

const COLUMNS = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv";

interface Shop {
  seed: number;
  requests: number;
  /** The time of stock, in milliseconds. */
  stock: number;
  /** The share of requests in which prices calls the database instead of using its cache. */
  misses: number;
  /** The time on the network to mail. */
  way: number;
}

function shop({ seed, requests, stock, misses, way }: Shop): string {
  const next = numbers(seed);
  const rows = [COLUMNS];
  for (let call = 0; call < requests; call++) {
    const at = (mills: number) => Math.round(call * 100e6 + mills * 1e6);
    const row = (name: string, caller: string, callee: string, times: number[]) => rows.push(`${call}${name},${caller},${callee},${times.map(at).join(",")}`);
    const miss = next() < misses ? 6 + 2 * next() : 0;
    const price = 3 + next() + miss;
    if (miss) row("d", "prices", "database", [2, 2.2, 1.8 + miss, 2 + miss]);
    row("p", "web", "prices", [1, 1.2, 1 + price, 1.2 + price]);
    const from = 1.5 + price;
    const to = from + 2 * way + stock * (0.8 + 0.4 * next());
    row("s", "web", "stock", [from, from + 0.2, to - 0.2, to]);
    let end = to + 0.5;
    if (call % 4 === 0) {
      const mail = 1 + next() / 2;
      row("m", "web", "mail", [end, end + way, end + way + mail, end + 2 * way + mail]);
      end += 2 * way + mail + 0.3;
    }
    row("w", "CLIENT", "web", [0, 0.2, end, end + 0.2]);
  }
  return `${rows.join("\n")}\n`;
}

/**
 * Before and after: stock takes four times as long, prices misses more often, the time to mail is
 * shorter. And before again.
 */
export function changed(): Record<"before" | "after" | "again", string> {
  const before: Shop = { seed: 7, requests: 800, stock: 4, misses: 0.1, way: 1.5 };
  return {
    before: shop(before),
    after: shop({ ...before, seed: 8, stock: 16, misses: 0.5, way: 0.3 }),
    again: shop({ ...before, seed: 9 }),
  };
}
