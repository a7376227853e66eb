import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      {
        // Pages in a real browser, one after the other: that of this machine, made by the sockcap
        // that SOCKCAP names.
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          globalSetup: "test/browser/pages.ts",
          fileParallelism: false,
          // These only end a browser that hangs: other tests may have the processors for minutes.
          testTimeout: 900_000,
          hookTimeout: 900_000,
        },
      },
    ],
  },
});
