import { expect, test } from "vitest";
import { bytes, count, duration, expected, fitted, percent, plural, rate, shorten, tick } from "../../src/format";

test("durations have three digits and a suitable unit, as on the terminal", () => {
  const given = [0, 1, 999.4, 999.5, 1e3, 45_600, 999_499, 999_500, 1.234e6, 1e9, 123.4e9, -2.5e6];
  const wanted = ["0", "1.00 ns", "999 ns", "1.00 µs", "1.00 µs", "45.6 µs", "999 µs", "1.00 ms", "1.23 ms", "1.00 s", "123 s", "−2.50 ms"];
  expect(given.map(duration)).toEqual(wanted);
  expect([null, undefined, NaN, Infinity].map(duration)).toEqual(["–", "–", "–", "–"]);
});

test("ticks have no trailing zeros", () => {
  expect([1e3, 1.5e6, 20e6, 1.25e9, 0].map(tick)).toEqual(["1 µs", "1.5 ms", "20 ms", "1.25 s", "0"]);
});

test("other numbers", () => {
  expect([0, 999, 1000, 1234567].map(count)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect([0.04, 999.9, 1234.5].map(expected)).toEqual(["0.0", "999.9", "1,235"]);
  expect([0, 0.0004, 0.1234, 1].map(percent)).toEqual(["0.0%", "<0.1%", "12.3%", "100.0%"]);
  expect([0.5, 12.34, 12345].map(rate)).toEqual(["0.50/s", "12.3/s", "12,345/s"]);
  expect([0, 999, 1000, 65_536, 3e9].map(bytes)).toEqual(["0 B", "999 B", "1.00 kB", "65.5 kB", "3.00 GB"]);
  expect([plural(1, "hop"), plural(1200, "hop")]).toEqual(["1 hop", "1,200 hops"]);
});

test("long names keep both ends", () => {
  expect(shorten("a-service.production.cluster-17", 14)).toBe("a-service…r-17");
  for (let most = 1; most < 40; most++) {
    expect([...shorten("a-service.production.cluster-17", most)].length).toBeLessThanOrEqual(Math.max(1, most));
  }
  expect(shorten("short", 14)).toBe("short");
});

test("the host of a node's name is shortened first", () => {
  expect(fitted("balancer/haproxy", 20)).toBe("balancer/haproxy");
  expect(fitted("balancer/haproxy", 14)).toBe("balan…/haproxy");
  expect(fitted("mailboxes/a-very-long-program", 14)).toBe(shorten("mailboxes/a-very-long-program", 14));
  for (let most = 4; most < 30; most++) expect([...fitted("mailboxes/imap-login", most)].length).toBeLessThanOrEqual(most);
});
