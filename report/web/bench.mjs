// Measures how long a page takes until it can be used, in milliseconds, as the median of several
// loads: node bench.mjs PAGE [PAGE...]
import path from "node:path";
import { chromium } from "playwright-core";

const ROUNDS = 7;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const median = (times) => times.toSorted((one, other) => one - other)[times.length >> 1];
for (const page of process.argv.slice(2)) {
  const [rows, searched, sorted, shown] = [[], [], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    const open = await browser.newPage({ offline: true });
    const timed = async (times, what) => {
      const begin = performance.now();
      await what();
      times.push(performance.now() - begin);
    };
    await timed(rows, async () => {
      await open.goto(`file://${path.resolve(page)}`, { waitUntil: "commit" });
      await open.locator("#pattern-0").waitFor();
    });
    await timed(searched, async () => {
      await open.fill("#search", "front");
      await open.locator("#found").waitFor();
    });
    await timed(sorted, () => open.selectOption("#sort", "p99"));
    await timed(shown, async () => {
      await open.click("#pattern-0");
      await open.locator(".distribution canvas").waitFor();
    });
    await open.close();
  }
  const figures = { rows, searched, sorted, pattern: shown };
  console.log(JSON.stringify(Object.fromEntries(Object.entries(figures).map(([name, times]) => [name, Math.round(median(times))]))));
}
await browser.close();
