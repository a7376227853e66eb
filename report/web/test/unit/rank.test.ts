import { expect, test } from "vitest";
import type { SortKey } from "../../src/data/types";
import { listed, METRICS, route, searchTexts, values } from "../../src/patterns/rank";
import { overview } from "./made";

test("a route has an arrow where it continues and a comma where it does not", () => {
  expect(route(overview(), 1)).toBe("CLIENT → nginx → app.py → redis");
  expect(route(overview(), 2)).toBe("CLIENT → nginx, app.py");
  expect(route(overview(), 1, 2)).toBe("CLIENT → nginx and 2 more");
});

test("a route begins with the operation of its root, if it is known", () => {
  const made = overview();
  made.names.push("GET /cart/{}");
  made.patterns.asked = [null, made.names.length - 1, null];
  expect(route(made, 1)).toBe("GET /cart/{}: CLIENT → nginx → app.py → redis");
  expect(route(made, 2)).toBe("CLIENT → nginx, app.py");
});

test("each metric is as in WAP5 and ranks the largest first", () => {
  const made = overview();
  const texts = searchTexts(made);
  const order = (key: SortKey) => listed(made, texts, key, "");
  expect(order("total")).toEqual([0, 1, 2]);
  expect(order("count")).toEqual([0, 1, 2]);
  // The third is expected 0.9 times: less than once.
  expect(order("mean")).toEqual([1, 0, 2]);
  // 0.7, 1, 0.9.
  expect(order("confidence")).toEqual([1, 0, 2]);
  // 7, 4, 0.9.
  expect([0, 1, 2].map((rank) => METRICS.evidence.of(values(made.patterns, rank)))).toEqual([7, 4, 0.9]);
});

test("all words are searched for in nodes, ports and numbers", () => {
  const made = overview();
  const texts = searchTexts(made);
  expect(listed(made, texts, "total", "REDIS")).toEqual([1]);
  expect(listed(made, texts, "mean", "nginx app")).toEqual([1, 0, 2]);
  expect(listed(made, texts, "total", ":6379")).toEqual([1]);
  expect(listed(made, texts, "total", "#7")).toEqual([2]);
  expect(listed(made, texts, "total", "redis nobody")).toEqual([]);
});

test("equal ones stay in the order of the page", () => {
  const made = overview();
  made.patterns.count = [4, 4, 4];
  expect(listed(made, searchTexts(made), "count", "")).toEqual([0, 1, 2]);
});
