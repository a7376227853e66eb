// Numbers in the style of the terminal's report: three significant digits in a suitable unit.

function digits(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/** Nanoseconds in a suitable unit. */
export function duration(nanoseconds: number | null | undefined): string {
  if (nanoseconds === null || nanoseconds === undefined || !Number.isFinite(nanoseconds)) return "–";
  if (nanoseconds === 0) return "0";
  const units: [number, string][] = [[1, "ns"], [1e3, "µs"], [1e6, "ms"]];
  const [scale, unit] = units.find(([scale]) => Math.abs(nanoseconds / scale) < 999.5) ?? [1e9, "s"];
  return `${digits(nanoseconds / scale).replace("-", "−")} ${unit}`;
}

/** A round duration, for axes: without trailing zeros. */
export function tick(nanoseconds: number): string {
  return duration(nanoseconds).replace(/\.(\d*?)0+ /, (_, kept: string) => (kept ? `.${kept} ` : " "));
}

/** Durations with enough digits to distinguish times that are `step` apart. */
export function apart(nanoseconds: number, step: number): string {
  const size = Math.abs(nanoseconds);
  const [scale, unit] = ([[1e9, "s"], [1e6, "ms"], [1e3, "µs"]] as const).find(([scale]) => size >= scale) ?? [1, "ns"];
  const decimals = Number.isFinite(step) ? Math.min(6, Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9))) : 2;
  return `${+(nanoseconds / scale).toFixed(decimals)} ${unit}`;
}

/** A whole number with thousands separators. */
export function count(number: number): string {
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/** An expected count: one decimal below a thousand. */
export function expected(number: number): string {
  return number < 999.95 ? number.toFixed(1) : count(number);
}

/** A share from 0 to 1. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  return share > 0 && share < 0.0005 ? "<0.1%" : `${(share * 100).toFixed(1)}%`;
}

/** A rate in events per second. */
export function rate(perSecond: number): string {
  if (!Number.isFinite(perSecond)) return "–";
  return `${perSecond < 999.5 ? digits(perSecond) : count(perSecond)}/s`;
}

export function bytes(size: number): string {
  const units: [number, string][] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]];
  const fitting = units.find(([scale]) => size >= scale * 0.9995);
  return fitting ? `${digits(size / fitting[0])} ${fitting[1]}` : `${Math.round(size)} B`;
}

/** "1 hop", "2 hops". */
export function plural(number: number, one: string): string {
  return `${count(number)} ${one}${number === 1 ? "" : "s"}`;
}

/** A text that keeps both ends in at most `most` characters. */
export function shorten(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const tail = Math.floor((most - 1) / 3);
  return `${characters.slice(0, most - 1 - tail).join("")}…${tail ? characters.slice(-tail).join("") : ""}`;
}

/** A node's name in at most `most` characters: of "host/program", the host is shortened first. */
export function fitted(name: string, most: number): string {
  const at = name.lastIndexOf("/");
  const program = name.slice(at + 1);
  if (at < 0 || name.length <= most || program.length + 3 > most) return shorten(name, most);
  return `${name.slice(0, most - program.length - 2)}…/${program}`;
}

/** A node's name that may be broken after its host. */
export function breakable(name: string | undefined): string {
  return (name ?? "").replaceAll("/", "/\u200b");
}
