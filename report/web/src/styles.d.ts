// Style sheets, which esbuild puts into one.
declare module "*.css";
