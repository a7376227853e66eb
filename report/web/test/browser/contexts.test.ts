// Contexts of operations as a reader uses them, by mouse and by keyboard.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { broken } from "./aloud";
import { browser, open, shoot } from "./browser";
import { badAxes, emptyBoxes, tooWide } from "./measure";

let chromium: Browser;
beforeAll(async () => {
  chromium = await browser();
});
afterAll(() => chromium?.close());

/** Answers with contexts in place of `sockcap view`. */
async function answered(page: Page): Promise<void> {
  await page.route("**/api/overview", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), contexts: true } });
  });
  await page.route("**/api/contexts", (route) => route.fulfill({ json: inject("madeContexts") }));
}

describe.each([["disk", true], ["view", false]] as const)("from %s", (way, isDisk) => {
  const opened = async (hash = "contexts", options: Parameters<typeof open>[2] = {}) => {
    const url = isDisk ? inject("contexts") : inject("view");
    return open(chromium, `${url}#${hash}`, isDisk ? { offline: true, ...options } : { before: answered, ...options });
  };

  test("operations are ranked by what context explains, found and sorted", async () => {
    const { page, complaints } = await opened();
    await page.locator("#operation-0").waitFor();
    const names = () => page.locator("#operations [role=option] b").allInnerTexts();
    expect(await names()).toEqual(["store GET /items", "cache", "log <script>alert(1)</script>"]);
    // The first one is shown, with the sentence of --explain and its contexts of the kind that it
    // names.
    expect(await page.locator(".sentence").innerText()).toMatch(/^store GET \/items is slow only when checkout calls it/);
    expect(await page.locator('.levels [aria-pressed="true"]').getAttribute("data-level")).toBe("caller");
    // A bar for each kind of contexts, as long as the share that it explains.
    const shares = await page.locator("#operation-0 .share").evaluateAll((bars) =>
      bars.map((bar) => [...bar.children].reduce((sum, part) => sum + part.getBoundingClientRect().width, 0) / bar.getBoundingClientRect().width),
    );
    expect(shares).toEqual([0.845, 0.845, 0.845].map((share) => expect.closeTo(share, 1)));
    expect(await page.locator(".list .fine").innerText()).toMatch(/^2 further operations, .*sockcap contexts -d shop$/);
    await page.selectOption(".list select", "count");
    expect((await names())[0]).toBe("cache");
    await page.fill(".list input", "items");
    await expectText(page, ".list output", /^1 of 3 operations/);
    await page.fill(".list input", "nobody");
    await expectText(page, ".list [role=status]", /No operation/);
    await page.fill(".list input", "");
    await page.click("#operation-2");
    await expectText(page, ".detail", /No call has a response time/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a distribution is taken apart by the contexts of each kind", async () => {
    const { page, complaints } = await opened();
    await page.locator(".plane path.layer").first().waitFor();
    const rows = () => page.locator(".by-context tbody tr:not(.all) th").evaluateAll((all) => all.map((row) => (row as HTMLElement).innerText.trim().replace(/\s+/g, " ")));
    expect(await rows()).toEqual(["checkout POST /order slow", "web GET /", "batch"]);
    expect(await page.locator(".plane path.layer:not(.others)").count()).toBe(3);
    // The slow one is to the right of the others, on the axis of all and on its own, and darker.
    const places = await page.locator(".by-context tbody td.shape svg .layer").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().left));
    expect(places.length).toBe(4);
    expect(places[1]).toBeGreaterThan((places[2] ?? 0) + 50);
    const fills = await page.locator(".plane path.layer:not(.others)").evaluateAll((all) => all.map((one) => getComputedStyle(one).fill));
    expect(fills[0]).not.toBe(fills[1]);
    expect(fills[1]).toBe(fills[2]);
    expect(await page.locator(".legend .shade").count()).toBe(2);
    await page.click('.levels [data-level="trace"]');
    await page.waitForURL(/level=trace/);
    expect((await rows())[0]).toBe("class 2 step 3 slow in web GET / of 4 steps");
    // Three response times are too few for bars, and seven contexts are omitted.
    expect(await page.locator(".by-context tbody tr").last().locator("path.layer").getAttribute("d")).toBe("");
    await expectText(page, ".detail .fine", /7 further contexts with 14 calls/);
    await shoot(page, `${way}-contexts`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("a context has its requests, and a request is an instance of its pattern", async () => {
    const { page, complaints } = await opened("contexts?level=trace");
    await page.click('[data-context="107"]');
    await page.waitForURL(/context=107/);
    await expectText(page, ".requests", /Some of its requests, from the slowest to the fastest/);
    expect(await page.locator(".requests .rows li").count()).toBe(5);
    // The tree of its requests, with its step.
    expect(await page.locator('.steps [aria-current="step"]').innerText()).toMatch(/3\s*store GET \/items/);
    await shoot(page, `${way}-context`, true);
    const link = page.url();

    const example = page.locator(".requests .rows button");
    const said = /request ([\d,]+) of pattern #(\d+)/.exec(await example.first().innerText());
    await example.first().click();
    await page.locator('#panel[data-tab="patterns"]').waitFor();
    await page.waitForURL(/instance=\d+/);
    await expectText(page, ".detail h2 .rank", new RegExp(`^#${said?.[2]}$`));
    await expectText(page, ".detail h3", /^Instance \d+, /);
    const instance = Number(/instance=(\d+)/.exec(page.url())?.[1]);
    const [request, , pattern, path] = (inject("madeContexts").operations[0]?.contexts.trace.shown[0]?.times?.examples ?? [])[0] ?? [];
    expect([request, pattern]).toEqual([Number(said?.[1]?.replace(",", "")), Number(said?.[2])]);
    // It is the instance at that place: the path of that number, which began at 50 ms times its
    // number.
    const at = await page.locator(`.instances li:nth-child(${(instance % 8) + 1}) .soft`).innerText();
    expect(seconds(at.replace("after ", ""))).toBeCloseTo((path ?? -1) * 0.05, 1);
    await page.goBack();
    await page.locator('.requests').waitFor();
    expect(page.url()).toBe(link);

    // One that the page does not have, and one that no pattern has.
    await example.nth(1).click();
    await expectText(page, ".missing", /Request 10,000,999 is not among the instances .* has all instances\. Its steps: sockcap export steps -d shop \| grep -E '\^\(request\|10000999\),'/);
    await example.nth(3).click();
    await expectText(page, ".missing", /^Request 8,777 is not among the instances of this page\. Its steps/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("the keyboard does all of it", async () => {
    const { page, complaints } = await opened("patterns");
    await page.locator("#pattern-0").waitFor();
    await page.keyboard.press("5");
    await page.locator("#operation-0").waitFor();
    const chosen = () => page.locator('#operations [aria-selected="true"] b').innerText();
    await page.keyboard.press("j");
    await page.waitForURL(/operation=200/);
    expect(await chosen()).toBe("cache");
    await page.keyboard.press("k");
    await page.waitForURL(/operation=100/);
    await page.keyboard.press("l");
    await page.waitForURL(/level=stack/);
    await page.keyboard.press("n");
    await page.waitForURL(/context=104/);
    await page.keyboard.press("n");
    await page.waitForURL(/context=105/);
    await page.keyboard.press("p");
    await page.waitForURL(/context=104/);
    await page.keyboard.press("Escape");
    await page.locator(".requests").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.waitForURL(/#contexts$/);
    await page.keyboard.press("r");
    expect(await page.locator(".list select").inputValue()).toBe("count");
    await page.keyboard.press("/");
    await page.keyboard.type("store");
    await page.keyboard.press("Enter");
    await page.keyboard.press("End");
    await page.waitForURL(/operation=100/);
    // A context by the tab and return keys.
    await page.locator("[data-context]").first().focus();
    await page.keyboard.press("Enter");
    await page.locator(".requests").waitFor();
    await page.locator("#tab-contexts").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator('#panel[data-tab="patterns"]').waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("everything has a name that can be read aloud, and enough contrast", async () => {
    for (const dark of [false, true]) {
      for (const view of ["contexts?operation=100&level=trace&context=107", "contexts?operation=200", "contexts?operation=300"]) {
        const { page } = await opened(view, { dark });
        await page.locator(".by-context").waitFor();
        expect(await broken(page), `${view} ${dark ? "dark" : "light"}`).toEqual([]);
        await page.context().close();
      }
    }
  });
});

const screens = [1440, 390].flatMap((width) => [false, true].map((dark) => [width, dark] as const));

test.each(screens)("contexts read at %i pixels, dark: %s", async (width, dark) => {
  const { page, complaints } = await open(chromium, `${inject("contexts")}#contexts`, { width, height: width === 390 ? 844 : 1000, dark, offline: true });
  for (const view of ["contexts", "contexts?operation=100&level=trace&context=107", "contexts?operation=200&level=stack"]) {
    await page.goto(`${inject("contexts")}#${view}`);
    await page.reload();
    await page.locator(".by-context").waitFor({ state: "attached" });
    expect(await page.evaluate(tooWide), view).toEqual([]);
    expect(await page.evaluate(emptyBoxes), view).toEqual([]);
    expect(await page.evaluate(badAxes), view).toEqual([]);
    await shoot(page, `contexts-${view.replace(/\W+/g, "-")}-${width}-${dark ? "dark" : "light"}`, true);
  }
  // The tab of the view is visible, however many there are.
  const box = await page.locator("#tab-contexts").boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 1e9)).toBeLessThanOrEqual(width);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("a page without requests has no such tab, and a link to it says so", async () => {
  const { page } = await open(chromium, inject("without"), { offline: true });
  await page.locator("#pattern-0").waitFor();
  expect(await page.locator("#tab-contexts").count()).toBe(0);
  await page.goto(`${inject("without")}#contexts`);
  await expectText(page, "#panel", /no contexts/);
  await page.context().close();
});

/** Waits until the first of `selector` has a matching text. */
async function expectText(page: Page, selector: string, text: RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

/** A duration as the page shows it, in seconds. */
function seconds(text: string): number {
  if (text === "0") return 0;
  const [number, unit] = text.split(" ");
  return Number(number) * ({ ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1 }[unit ?? ""] ?? NaN);
}
