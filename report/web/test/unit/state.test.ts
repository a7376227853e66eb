import { beforeEach, expect, test } from "vitest";
import { address, choose, delay, instance, look, order, pattern, query, sort, tab } from "../../src/state";

beforeEach(() => look(""));

test("an address has the state of the view", () => {
  expect(address()).toBe("patterns");
  tab.value = "time";
  pattern.value = 17;
  sort.value = "p99";
  query.value = "redis & #3";
  delay.value = { hop: 4, part: "network" };
  instance.value = 2;
  order.value = "likely";
  const said = address();
  look("map");
  expect([tab.value, pattern.value, query.value]).toEqual(["map", null, ""]);
  look(said);
  expect(address()).toBe(said);
  expect([query.value, delay.value, instance.value]).toEqual(["redis & #3", { hop: 4, part: "network" }, 2]);
  expect([tab.value, pattern.value, sort.value, order.value]).toEqual(["time", 17, "p99", "likely"]);
});

test("a wrong address does no harm, and percent signs are decoded once", () => {
  look("patterns?search=100%");
  expect(query.value).toBe("100%");
  query.value = "%41";
  look(address());
  expect(query.value).toBe("%41");
});

test("unknown parts of an address are ignored", () => {
  look("nowhere?pattern=-1&sort=size&delay=x.node&instance=1e9&order=none");
  expect(address()).toBe("patterns");
  look("patterns?delay=3.nothing");
  expect(delay.value).toBeNull();
});

test("another pattern has no selection in it", () => {
  look("patterns?pattern=1&delay=3.node&instance=5");
  choose(2);
  expect(address()).toBe("patterns?pattern=2");
});
