// The page of a comparison as a reader uses it, by mouse and by keyboard, and its drawings.

import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Comparison } from "../../src/data/comparison";
import { broken } from "./aloud";
import { browser, open, shoot } from "./browser";
import { badAxes, badMap, badWaterfall, emptyBoxes, tooWide } from "./measure";
import { read } from "./pieces";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

const opened = (hash = "answer", options: Parameters<typeof open>[2] = {}, url = inject("compared")) =>
  open(chromium, `${url}#${hash}`, { offline: true, ...options });

/** The data of a page. */
function data(url: string): Comparison {
  return read<Comparison>(readFileSync(new URL(url), "utf8"), "comparison");
}

/** A duration as the page shows it, in milliseconds. */
function milliseconds(text: string): number {
  const found = /([+−-]?[\d.]+) (ns|µs|ms|s)$/.exec(text.trim());
  if (!found) return text.trim().endsWith("0") ? 0 : NaN;
  const [, number = "", unit = ""] = found;
  return Number(number.replace("−", "-")) * ({ ns: 1e-6, µs: 1e-3, ms: 1, s: 1e3 }[unit] ?? NaN);
}

async function expectText(page: Page, selector: string, text: RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

test("a page has all of the answer", () => {
  const url = inject("compared");
  const page = readFileSync(new URL(url), "utf8");
  const answer = JSON.parse(readFileSync(new URL(url.replace(".html", ".json")), "utf8"));
  const { group, mutations, ...rest } = data(url);
  expect(answer).toMatchObject(rest);
  expect(read(page, "details-0")).toEqual(answer.mutations);
  expect(mutations.length).toBe(answer.mutations.length);
  expect(mutations.length).toBeLessThan(group);
  mutations.forEach((row, at) => {
    const { kind, contribution_ns, tree } = answer.mutations[at];
    expect(row).toMatchObject({ kind, contribution_ns, counts: tree.counts, mean_ns: tree.mean_ns, steps: tree.places.length, node: tree.places[0].node });
    expect(row.through.toSorted()).toEqual([...new Set(tree.places.map(({ node }: { node: string }) => node))].toSorted());
  });
});

describe("the answer", () => {
  test("shows the changes, and the sums add up", async () => {
    const { page, complaints } = await opened();
    await expectText(page, ".verdict", /^Slower by 1\d\.\d ms on average, \+\d/);
    // The first suspect has the sentences of the result.
    const { suspects } = data(inject("compared"));
    expect(await page.locator(".suspect-list .first b").innerText()).toContain(suspects[0]?.node);
    expect(await page.locator(".suspect-list .first .evidence li").first().innerText()).toBe(suspects[0]?.evidence[0]?.sentence);
    expect(await page.locator(".suspect-list li .evidence").allInnerTexts()).toContainEqual(expect.stringMatching(/^stock takes .* itself/));
    for (const measure of ["mean", "p50", "p95", "p99"]) {
      await page.locator("#measures button", { hasText: measure }).click();
      await expectText(page, ".waterfall .end .what", new RegExp(`^${measure} before`));
      const numbers = (await page.locator(".waterfall li .number").allInnerTexts()).map(milliseconds);
      const [first = NaN, last = NaN] = [numbers[0], numbers.at(-1)];
      const sum = numbers.slice(1, -1).reduce((all, part) => all + part, first);
      // Each is shown with three digits.
      expect(Math.abs(sum - last), `${measure}: ${numbers}`).toBeLessThan(0.1);
      // Each bar begins where the one above it ends.
      expect(await page.evaluate(badWaterfall)).toEqual([]);
    }
    expect(page.url()).toMatch(/measure=p99$/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("has both distributions in one plot", async () => {
    const { page } = await opened();
    await page.locator(".two svg").waitFor();
    const heights = (of: string) => page.locator(`.two path.${of}`).evaluate((path) => (path as SVGPathElement).getBBox().height);
    expect(await heights("shape-before")).toBeGreaterThan(0.4);
    expect(await heights("shape-after")).toBeGreaterThan(0.4);
    // The mean after lies to the right of the one before.
    const x = (of: string) => page.locator(`.two line.${of}`).evaluate((line) => line.getBoundingClientRect().x);
    expect(await x("mark-after")).toBeGreaterThan((await x("mark-before")) + 20);
    await page.context().close();
  });

  test("of the same system on another day is that nothing changed", async () => {
    const { page, complaints } = await opened("answer", {}, inject("alike"));
    await expectText(page, ".verdict", /^Chance explains all changes$/);
    expect(await page.locator(".suspects").count()).toBe(0);
    await page.keyboard.press("2");
    await expectText(page, "#panel", /^No category of requests takes another time/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe("a mutation", () => {
  test("that is slower has both timelines on one axis, with what changed marked in both", async () => {
    const { page, complaints } = await opened("mutations");
    await page.locator(".compared-timelines").waitFor();
    const first = data(inject("compared")).mutations[0];
    expect(first?.kind).toBe("response_time");
    expect(await page.locator(".kind").innerText()).toBe("▲ slower");
    expect(await page.locator("#mutation-0").getAttribute("aria-selected")).toBe("true");
    // stock itself: on the same scale, four times as long.
    const works = await page.locator(".compared-timelines .work.worse").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width));
    expect(works.length).toBe(2);
    expect((works[1] ?? 0) / (works[0] ?? 1)).toBeGreaterThan(2);
    expect(await page.locator(".compared-timelines .badge text").evaluateAll((all) => all.map((one) => one.textContent))).toEqual(["▲1", "▲1"]);
    expect(await page.locator(".changes li").first().innerText()).toMatch(/^▲1\s+stock itself: .* → .* ms/);
    // The dashed ends are as far apart as the means.
    const ends = await page.locator(".compared-timelines .end").evaluateAll((all) => all.map((one) => Number(one.getAttribute("x1"))));
    expect(((ends[1] ?? 0) - 4) / ((ends[0] ?? 1) - 4)).toBeCloseTo((first?.mean_ns[1] ?? 0) / (first?.mean_ns[0] ?? 1), 3);
    // The table has the sum of all steps, which is the mean.
    const sum = await page.locator(".compared-steps tfoot td").first().innerText();
    expect(milliseconds(sum)).toBeCloseTo((first?.mean_ns[1] ?? 0) / 1e6, 1);
    const shown = await page.locator(".compared-steps tbody tr").count();
    await page.keyboard.press("a");
    await page.waitForURL(/steps=all/);
    expect(await page.locator(".compared-steps tbody tr").count()).toBeGreaterThanOrEqual(shown);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("of structure is shown with its originator, and with the steps that exist only after", async () => {
    const rows = data(inject("compared")).mutations;
    const at = rows.findIndex(({ kind }) => kind === "structural");
    const { page } = await opened(`mutations?mutation=${at + 1}`);
    await page.locator(".compared-timelines").waitFor();
    expect(await page.locator(".kind").innerText()).toBe("◆ other path");
    expect(await page.locator(".sentence").innerText()).toMatch(/^Such requests probably took another path before: .* They diverge at database/);
    expect(await page.locator(".changes li").first().innerText()).toMatch(/^\+1\s+prices → database only after: \d/);
    // Only in the second timeline.
    const tops = await page.locator(".compared-timelines .title").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    const works = await page.locator(".compared-timelines .work.worse").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    expect(works.length).toBeGreaterThan(0);
    for (const top of works) expect(top).toBeGreaterThan(tops[1] ?? Infinity);
    expect(await page.locator(".two .legend").innerText()).toContain("originator before");
    await page.context().close();
  });

  test("is found, ranked and linked to", async () => {
    const { page, complaints } = await opened("answer");
    await page.locator(".suspect-list .links button", { hasText: "mutations through it" }).first().click();
    await page.locator("#mutations").waitFor();
    const all = data(inject("compared")).mutations.length;
    await page.fill(".list input", "database");
    await expectText(page, ".list output", new RegExp(`^\\d of ${all} mutations`));
    await page.fill(".list input", "nobody");
    await expectText(page, ".list [role=status]", /No mutation/);
    await page.fill(".list input", "");
    await page.selectOption(".list select", "requests");
    await page.waitForURL(/rank=requests/);
    await page.click("#mutation-2");
    await page.waitForURL(/mutation=\d/);
    const link = page.url();
    const title = await page.locator(".detail h2").innerText();
    await page.goBack();
    await page.goForward();
    expect(page.url()).toBe(link);
    expect(await page.locator(".detail h2").innerText()).toBe(title);
    await page.goto(`${inject("compared")}#mutations?mutation=999`);
    await expectText(page, ".error", /Mutation #999 is not part of this page/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe("the map", () => {
  test("marks what changed, by more than a colour", async () => {
    const { page, complaints } = await opened("map");
    await page.locator("svg.system g.place").first().waitFor();
    const names = await page.locator("svg.system g.place.worse text").evaluateAll((all) => all.map((one) => one.textContent ?? ""));
    expect(names).toContainEqual(expect.stringMatching(/^▲ stock/));
    const edge = page.locator("svg.system g.edge.better");
    expect(await edge.locator("title").evaluateAll((all) => all.map((one) => one.textContent))).toEqual([expect.stringMatching(/^web calls mail: .* on the way: better$/)]);
    expect(await edge.locator("text").evaluateAll((all) => all.map((one) => one.textContent))).toEqual([expect.stringMatching(/▼/)]);
    expect(await page.evaluate(badMap)).toEqual([]);
    await page.locator('svg.system g.place[aria-label*="stock"]').focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/node=stock/);
    await expectText(page, ".evidence-of", /stock takes/);
    expect(await page.locator("svg.system g.edge:not(.dim)").count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.locator(".evidence-of").waitFor({ state: "detached" });
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

test("the keyboard does all of it", async () => {
  const { page, complaints } = await opened();
  await page.locator("#measures").waitFor();
  await page.keyboard.press("m");
  await page.waitForURL(/measure=p50/);
  await page.keyboard.press("j");
  await page.waitForURL(/#mutations\?.*mutation=2/);
  await page.keyboard.press("j");
  await page.waitForURL(/mutation=3/);
  await page.keyboard.press("k");
  await page.waitForURL(/mutation=2/);
  await page.keyboard.press("End");
  await page.waitForURL(new RegExp(`mutation=${data(inject("compared")).mutations.length}$`));
  await page.keyboard.press("r");
  expect(await page.locator(".list select").inputValue()).toBe("change");
  await page.keyboard.press("/");
  await page.keyboard.type("mail");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Home");
  await expectText(page, '#mutations [aria-selected="true"]', /web/);
  await page.keyboard.press("Escape");
  await page.waitForURL(/^(?!.*search)/);
  await page.keyboard.press("3");
  await page.locator("svg.system g.place").first().waitFor();
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  expect(await page.locator("dialog dt").count()).toBeGreaterThanOrEqual(10);
  await page.keyboard.press("Escape");
  await page.locator("#tab-map").focus();
  await page.keyboard.press("ArrowRight");
  await page.locator('#panel[data-tab="answer"]').waitFor();
  await page.keyboard.press("t");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("another originator is chosen by mouse and by key", async () => {
  const rows = data(inject("compared")).mutations;
  const { page } = await opened("mutations");
  // One of the structural mutations has two originators.
  for (let at = 0; at < rows.length; at++) {
    if (rows[at]?.kind !== "structural") continue;
    await page.goto(`${inject("compared")}#mutations?mutation=${at + 1}`);
    await page.locator(`article[aria-label="Mutation ${at + 1}"]`).waitFor();
    if ((await page.locator("#originators button").count()) > 1) break;
  }
  const said = await page.locator(".sentence").innerText();
  await page.keyboard.press("o");
  await page.waitForURL(/originator=2/);
  expect(await page.locator(".sentence").innerText()).not.toBe(said);
  await page.locator("#originators button").first().click();
  await expectText(page, ".sentence", /./);
  expect(await page.locator(".sentence").innerText()).toBe(said);
  await page.context().close();
});

test("a thousand mutations are as quick as a few", async () => {
  const { page, complaints } = await opened("mutations", {}, inject("thousand"));
  await page.locator(".compared-timelines").waitFor();
  await expectText(page, ".list output", /^1,000 mutations$/);
  // Only visible rows exist, and the batches of the mutations that are opened.
  expect(await page.locator("#mutations [role=option]").count()).toBeLessThan(40);
  await page.locator("#mutations").focus();
  await page.keyboard.press("End");
  await page.waitForURL(/mutation=1000/);
  await page.locator('article[aria-label="Mutation 1000"] .compared-timelines').waitFor();
  expect(await page.locator('#mutations [aria-selected="true"] .rank').innerText()).toBe("#1000");
  expect(await page.locator("#mutations [role=option]").count()).toBeLessThan(40);
  await page.fill(".list input", "get");
  expect(complaints).toEqual([]);
  await page.context().close();
});

const VIEWS = ["answer", "answer?measure=p99", "mutations?mutation=1&steps=all", "mutations?mutation=2", "map", "map?node=web"];

test("everything has a name that can be read aloud, and enough contrast", async () => {
  for (const dark of [false, true]) {
    for (const view of VIEWS) {
      const { page } = await opened(view, { dark });
      await drawn(page);
      expect(await broken(page), `${view} ${dark ? "dark" : "light"}`).toEqual([]);
      await page.context().close();
    }
  }
});

const screens = [1440, 390].flatMap((width) => [false, true].map((dark) => [width, dark] as const));
/** Comparisons of real systems, if there are any, are measured in the same way. */
const real = (process.env.SOCKCAP_COMPARISONS ?? "").split(":").filter(Boolean);

test.each(screens)("a comparison reads at %i pixels, dark: %s", async (width, dark) => {
  for (const url of real.length > 0 ? real.map((file) => `file://${file}`) : [inject("compared")]) {
    const name = real.length > 0 ? `${url.split("/").at(-1)?.replace(".html", "")}-` : "";
    const { page, complaints } = await opened("answer", { width, height: width === 390 ? 844 : 1000, dark }, url);
    const { mutations } = data(url);
    for (const view of VIEWS) {
      if (Number(/mutation=(\d+)/.exec(view)?.[1] ?? 0) > mutations.length) continue;
      await page.goto(`${url}#${view}`);
      await page.locator(`#panel[data-tab="${view.split("?")[0]}"]`).waitFor();
      await drawn(page);
      expect(await page.evaluate(tooWide), `${url} ${view}`).toEqual([]);
      expect(await page.evaluate(emptyBoxes), `${url} ${view}`).toEqual([]);
      expect(await page.evaluate(badAxes), `${url} ${view}`).toEqual([]);
      if (view.startsWith("map")) expect(await page.evaluate(badMap), `${url} ${view}`).toEqual([]);
      if (view.startsWith("answer")) expect(await page.evaluate(badWaterfall), `${url} ${view}`).toEqual([]);
      await shoot(page, `comparison-${name}${view.replace(/\W+/g, "-")}-${width}-${dark ? "dark" : "light"}`, true);
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});

/** Waits until the contents of the tab are drawn. */
async function drawn(page: Page): Promise<void> {
  await page.locator(".two svg, .compared-timelines, svg.system g.place, #panel > [role=status], .map .error").first().waitFor();
}
