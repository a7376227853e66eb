// Makes the pages for the tests: real ones, by the sockcap that SOCKCAP names, from synthetic
// calls.

import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import type { Contexts } from "../../src/data/contexts";
import { contexts } from "../unit/made_contexts";
import { changed } from "./changed";
import { instances, withContexts, withMoreCosts, withMutations } from "./pieces";
import { numbers, tiers } from "./systems";

declare module "vitest" {
  interface ProvidedContext {
    small: string;
    part: string;
    many: string;
    fifteen: string;
    forty: string;
    sparse: string;
    few: string;
    view: string;
    viewed: string;
    contexts: string;
    asked: string;
    costs: string;
    costly: string;
    ports: Record<string, string>;
    without: string;
    madeContexts: Contexts;
    ranked: string[];
    compared: string;
    alike: string;
    thousand: string;
  }
}

const COLUMNS = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv";

/** 400 requests to a shop over 20 s: web calls prices and stock concurrently; every tenth calls an untraced server; slower in the middle. */
function shop(): string {
  const next = numbers(1);
  const rows = [COLUMNS];
  for (let call = 0; call < 400; call++) {
    const slow = call > 180 && call < 220 ? 6 : 1;
    const at = (mills: number) => Math.round(call * 50e6 + mills * 1e6);
    const price = 2 + next() * 2;
    const stock = (4 + next() * 6 + (next() < 0.03 ? 20 : 0)) * slow;
    const end = 3 + Math.max(price, stock);
    rows.push(`${call}p,web,prices,${at(1)},${at(1.2)},${at(1 + price)},${at(1.2 + price)}`);
    rows.push(`${call}s,web,stock,${at(1.1)},${at(1.4)},${at(1.1 + stock)},${at(1.4 + stock)}`);
    if (call % 10 === 0) rows.push(`${call}d,web,dns,${at(end)},,,${at(end + 12)}`);
    const done = call % 10 === 0 ? end + 13 : end;
    rows.push(`${call}w,CLIENT,web,${at(0)},${at(0.2)},${at(done)},${at(done + 0.3)}`);
  }
  return `${rows.join("\n")}\n`;
}

/** One request each, each from an untraced client of its own, along 10,000 paths through 65 services. */
function ways(): string {
  const rows = [COLUMNS];
  const next = numbers(2);
  for (let call = 0; call < 10_000; call++) {
    const [one, two, three] = [call % 22, 22 + (Math.floor(call / 22) % 22), 44 + Math.floor(call / 484)];
    const at = (mills: number) => Math.round(call * 20e6 + mills * 1e6);
    const work = 1 + next() * 3;
    rows.push(`${call}a,client-${call},front-${one},,${at(0.1)},${at(6 + work)},`);
    rows.push(`${call}b,front-${one},middle-${two},${at(1)},${at(1.1)},${at(4 + work)},${at(4.1 + work)}`);
    rows.push(`${call}c,middle-${two},back-${three},${at(2)},${at(2.1)},${at(2.5 + work)},${at(2.6 + work)}`);
  }
  return `${rows.join("\n")}\n`;
}

/**
 * This number of requests, one second apart, all of which take the same time within a hundredth.
 */
function steady(requests: number, seconds: number): string {
  const rows = [COLUMNS];
  const next = numbers(3);
  for (let call = 0; call < requests; call++) {
    const at = (mills: number) => Math.round(call * seconds * 1e9 + mills * 1e6);
    const end = 20 + (next() + next() + next()) / 15;
    rows.push(`${call}a,CLIENT,web,${at(0)},${at(0.1)},${at(end)},${at(end + 0.1)}`);
  }
  return `${rows.join("\n")}\n`;
}

const PROGRAM = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../../tests/programs/spent.c");

/** Records a server into `costs`, with its resources; its requests each spend their time in one way. Returns the kinds of its requests, each with its port. */
function recorded(sockcap: string, directory: string): Record<string, string> {
  const of = (name: string) => path.join(directory, name);
  execFileSync("cc", ["-O1", "-pthread", "-o", of("client"), PROGRAM]);
  for (const name of ["server", "backend"]) copyFileSync(of("client"), of(name));
  const said = ["record", "--resources", "-d", "costs", "--", of("client"), "6"];
  const printed = execFileSync(sockcap, said, { cwd: directory, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  return Object.fromEntries([...printed.matchAll(/^(\w+) (\d+)$/gm)].map(([, kind, port]) => [kind, port]));
}

const ASKED = path.join(path.dirname(fileURLToPath(import.meta.url)), "asked.mjs");

/**
 * Records a server that receives requests for carts and orders into `asked`, with the operations of
 * messages.
 */
function named(sockcap: string, directory: string): void {
  const server = path.join(directory, "shopd");
  symlinkSync(process.execPath, server);
  const said = ["record", "--protocols", "-d", "asked", "--", process.execPath, ASKED, "ask", server];
  execFileSync(sockcap, said, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
}

export default async function setup(project: TestProject): Promise<() => void> {
  // Existing pages are measured as they are.
  if (process.env.SOCKCAP_PAGES) return () => {};
  const program = process.env.SOCKCAP;
  if (!program) throw new Error("SOCKCAP does not name the program sockcap, of which the pages are tested");
  const sockcap = path.resolve(program);
  const directory = mkdtempSync(path.join(tmpdir(), "sockcap-pages-"));
  const run = (...said: string[]) => execFileSync(sockcap, said, { cwd: directory, stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
  const page = (name: string, table: string) => {
    writeFileSync(path.join(directory, `${name}.csv`), table);
    mkdirSync(path.join(directory, name));
    run("import", "calls", `${name}.csv`, "-d", name);
    run("report", "-d", name, "--html", `${name}.html`);
    return `file://${path.join(directory, name)}.html`;
  };
  project.provide("small", page("shop", shop()));
  run("report", "-d", "shop", "--through", "dns", "--html", "part.html");
  project.provide("part", `file://${path.join(directory, "part.html")}`);
  // The shop with synthetic contexts: the first examples are instances of its page, one is no
  // longer in it, and one has no pattern.
  const small = readFileSync(path.join(directory, "shop.html"), "utf8");
  const [first, second, ...others] = instances(small);
  if (!first || !second) throw new Error("the shop has no instances");
  const profile = contexts([first, [9_999_999, first[1]], second, [7_777, -1], ...others]);
  writeFileSync(path.join(directory, "contexts.html"), withContexts(small, profile));
  project.provide("contexts", `file://${path.join(directory, "contexts.html")}`);
  project.provide("madeContexts", profile);
  writeFileSync(path.join(directory, "without.html"), withContexts(small, null));
  project.provide("without", `file://${path.join(directory, "without.html")}`);
  // The shop as it was, after some changes, and on another day.
  for (const [name, table] of Object.entries(changed())) {
    writeFileSync(path.join(directory, `${name}.csv`), table);
    mkdirSync(path.join(directory, name));
    run("import", "calls", `${name}.csv`, "-d", name);
    run("analyze", "-d", name);
  }
  const compared = (name: string, after: string) => {
    writeFileSync(path.join(directory, `${name}.json`), run("diff", "before", after, "--html", `${name}.html`, "--json"));
    return `file://${path.join(directory, name)}.html`;
  };
  project.provide("compared", compared("compared", "after"));
  project.provide("alike", compared("alike", "again"));
  const thousand = withMutations(readFileSync(path.join(directory, "compared.html"), "utf8"), 1_000);
  writeFileSync(path.join(directory, "thousand.html"), thousand);
  project.provide("thousand", `file://${path.join(directory, "thousand.html")}`);
  // The patterns of the shop by their mean time, as the terminal numbers them.
  const printed = run("report", "-d", "shop", "--sort", "mean", "--limit", "99");
  project.provide("ranked", printed.split("\n").flatMap((line) => /^(#\d+)  /.exec(line)?.[1] ?? []));
  project.provide("many", page("ways", ways()));
  project.provide("sparse", page("steady", steady(60, 1)));
  project.provide("few", page("few", steady(6, 2)));
  const made = (name: string, config: string) => {
    writeFileSync(path.join(directory, `${name}.toml`), config);
    run("synth", `${name}.toml`, "-d", name);
    run("report", "-d", name, "--html", `${name}.html`);
    return `file://${path.join(directory, name)}.html`;
  };
  project.provide("fifteen", made("fifteen", tiers(2, 7, 5, 12, 2)));
  project.provide("forty", made("forty", tiers(4, 20, 15, 40, 3)));

  named(sockcap, directory);
  run("report", "-d", "asked", "--html", "asked.html");
  project.provide("asked", `file://${path.join(directory, "asked.html")}`);
  project.provide("ports", recorded(sockcap, directory));
  run("report", "-d", "costs", "--html", "costs.html");
  project.provide("costs", `file://${path.join(directory, "costs.html")}`);
  // The same with more costs.
  const costly = withMoreCosts(readFileSync(path.join(directory, "costs.html"), "utf8"));
  writeFileSync(path.join(directory, "costly.html"), costly);
  project.provide("costly", `file://${path.join(directory, "costly.html")}`);

  const server = spawn(sockcap, ["view", "-d", "shop", "--no-browser", "--port", "0"], { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  const url = await new Promise<string>((resolve, reject) => {
    server.stderr.on("data", (some) => {
      said += String(some);
      const found = /(http:\/\/\S+) until/.exec(said);
      if (found?.[1]) resolve(found[1]);
    });
    server.on("exit", () => reject(new Error(`sockcap view ended: ${said}`)));
  });
  project.provide("view", url);
  project.provide("viewed", path.join(directory, "shop"));
  return () => {
    server.kill("SIGTERM");
    rmSync(directory, { recursive: true, force: true });
  };
}
