import { expect, test } from "vitest";
import type { Operations, Overview } from "../../src/data/types";
import { charts, requests, rowsOf, spark } from "../../src/time/operations";
import { overview } from "./made";

/** A database that fails, two routes, and a call that is never answered. */
function made(): Overview & { operations: Operations } {
  const all = overview();
  all.names.push("SELECT books", "GET /cart/{}", "GET /");
  const operations: Operations = {
    step: 1e9,
    omitted: 2,
    name: [6, 7, 8, 7],
    node: [3, 1, 1, 2],
    root: [false, true, true, false],
    calls: [250, 200, 50, 200],
    answered: [225, 200, 50, 0],
    errors: [54, 51, 0, 0],
    series: [
      [0, 125, 100, 4, 59, 125, 125, 50],
      [0, 100, 100, 1, 59, 100, 100, 50],
      [0, 20, 20, 0, 30, 30, 30, 0],
      [],
    ],
  };
  return { ...all, operations };
}

test("operations of requests come first, then operations within them, each with the most errors first", () => {
  const rows = rowsOf(made());
  expect(rows.map(({ node, name }) => `${node} ${name}`)).toEqual(["nginx GET /cart/{}", "nginx GET /", "redis SELECT books", "app.py GET /cart/{}"]);
  expect(rows.map(({ place }) => place)).toEqual([1, 2, 0, 3]);
  expect(rows.map(({ share }) => share)).toEqual([0.255, 0, 0.24, null]);
  expect(rowsOf(overview())).toEqual([]);
});

test("the series of all requests is the sum over operations that paths begin with", () => {
  expect(requests(made().operations)).toEqual([0, 120, 120, 1, 30, 30, 30, 0, 59, 100, 100, 50]);
});

test("calls and errors are rates, and the share of errors is relative to answered calls", () => {
  const found = charts([0, 20, 10, 1, 1, 20, 4, 2, 59, 40, 0, 0], 1e9);
  expect(found.step).toBe(1e9);
  const [times, calls, errors] = found.calls;
  expect([times.length, times[0], times[59]]).toEqual([60, 0, 59]);
  expect([calls?.[0], calls?.[1], calls?.[2], calls?.[59]]).toEqual([20, 20, 0, 40]);
  expect([errors?.[0], errors?.[1]]).toEqual([1, 2]);
  // Ten responses make a line, four a dot, and none nothing.
  const [, enough, few] = found.share;
  expect([enough?.[0], few?.[0]]).toEqual([0.1, null]);
  expect([enough?.[1], few?.[1]]).toEqual([null, 0.5]);
  expect([enough?.[59], few?.[59]]).toEqual([null, null]);
});

test("slices with few calls are merged", () => {
  const found = charts([0, 5, 5, 1, 1, 5, 5, 0, 58, 10, 10, 5], 1e9);
  expect(found.step).toBe(2e9);
  expect(found.share[1]?.[0]).toBe(0.1);
  expect(found.share[1]?.[29]).toBe(0.5);
});

test("a spark has a bar for each slice with calls, and a lower one for errors", () => {
  const { calls, errors } = spark([0, 50, 50, 0, 7, 100, 100, 25]);
  expect(calls).toBe("M0 1h1V0.5h-1zM7 1h1V0h-1z");
  expect(errors).toBe("M7 1h1V0.75h-1z");
  expect(spark([])).toEqual({ calls: "", errors: "" });
});
