// Style sheets, which esbuild merges into one.
declare module "*.css";
