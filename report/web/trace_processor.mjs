// Runs Perfetto's own trace processor on traces: the one of its user interface, which runs in a
// browser. Prints a line of JSON for each trace: slices, flows, the sum of the slices' durations,
// and the errors it found.
//
// usage: node trace_processor.mjs INTERFACE TRACE...
// (INTERFACE: the directory with the interface's index.html)
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";

const [root, ...traces] = process.argv.slice(2);
const kinds = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".css": "text/css", ".json": "application/json" };
const server = createServer(async (request, answer) => {
  const asked = decodeURIComponent(new URL(request.url ?? "", "http://127.0.0.1").pathname);
  const trace = /^\/trace-(\d+)$/.exec(asked);
  const file = trace ? traces[Number(trace[1])] : path.join(root, path.normalize(asked === "/" ? "/index.html" : asked));
  const content = await readFile(file).catch(() => null);
  answer.writeHead(content ? 200 : 404, { "Content-Type": kinds[path.extname(file)] ?? "application/octet-stream" });
  answer.end(content ?? "");
});
// The interface may fetch traces from only a few addresses, including this one.
await new Promise((resolve) => server.listen(10000, "127.0.0.1", resolve));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  for (const number of traces.keys()) {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:10000/#!/?url=http://127.0.0.1:10000/trace-${number}`);
    await page.waitForFunction(() => window.app?.trace?.engine, null, { timeout: 120_000 });
    const found = await page.evaluate(async () => {
      const ask = async (sql) => Number((await window.app.trace.engine.query(sql)).firstRow({ n: 0n }).n);
      return {
        slices: await ask("select count(*) as n from slice"),
        flows: await ask("select count(*) as n from flow"),
        time: await ask("select sum(dur) as n from slice"),
        errors: await ask("select count(*) as n from stats where severity in ('error', 'data_loss') and value > 0"),
      };
    });
    console.log(JSON.stringify(found));
    await page.close();
  }
} finally {
  await browser.close();
  server.close();
}
