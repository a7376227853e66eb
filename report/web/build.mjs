// Builds the page's program, style sheet and licences into one directory: report/assets, or the
// given one.
import { readFile, writeFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? path.join(here, "../assets");

await mkdir(target, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome111", "firefox115", "safari16.4"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});

// Bundled libraries require their licences to be included.
const { dependencies } = JSON.parse(await readFile(path.join(here, "package.json"), "utf8"));
const bundled = [...Object.keys(dependencies), "@preact/signals-core", "@dagrejs/graphlib"].sort();
const licences = await Promise.all(
  bundled.map(async (name) => {
    const directory = path.join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(path.join(directory, "package.json"), "utf8"));
    const text = await readFile(path.join(directory, "LICENSE"), "utf8");
    return `${name} ${version}, ${license}\n\n${text.trim()}\n`;
  }),
);
await writeFile(path.join(target, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
