// Measures of a drawn page: functions that run in the browser and return the problems, or nothing
// if there are none.

/** Elements that are wider than the screen and do not scroll by themselves. */
export function tooWide(): string[] {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = (element: Element | null): boolean =>
    element !== null && (/auto|scroll|hidden/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  return [...document.body.querySelectorAll("*")]
    .filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element.parentElement))
    .map((element) => `${element.tagName} ${element.className} to ${Math.round(element.getBoundingClientRect().right)}`);
}

/** Boxes with a frame or a colour of their own that are empty, or empty in most of their height. */
export function emptyBoxes(): string[] {
  const isSeen = (element: Element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const shapes = "canvas, input, select, button, rect, path, line, polygon, circle, polyline, .bar";
  const found: string[] = [];
  for (const box of document.querySelectorAll("main *, header *")) {
    const style = getComputedStyle(box);
    const isBox = parseFloat(style.borderBottomWidth) > 0 && parseFloat(style.borderLeftWidth) > 0 && box instanceof HTMLElement;
    const { height, width, top } = box.getBoundingClientRect();
    if (!isBox || !isSeen(box) || height < 40 || width < 60 || box.matches(shapes)) continue;
    const ends: number[] = [];
    for (const inner of box.querySelectorAll("*")) {
      const hasText = [...inner.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
      if (!isSeen(inner) || !(hasText || inner.matches(shapes))) continue;
      const rect = inner.getBoundingClientRect();
      if (rect.height > 0 || rect.width > 0) ends.push(Math.min(rect.bottom, top + height) - top);
    }
    if (Math.max(0, ...ends) < 0.7 * height) found.push(`${box.tagName} ${box.className || box.id}: ${ends.length} things in ${Math.round(height)} px`);
  }
  return found;
}

/** Problems of the map: labels over lines, nodes or each other, arrowheads that are cut off or covered, small text. */
export function badMap(): string[] {
  const svg = document.querySelector("svg.system");
  if (!svg) return ["there is no map"];
  const found: string[] = [];
  const frame = svg.getBoundingClientRect();
  const nodes = [...svg.querySelectorAll("g.place")].map((group) => ({
    name: group.getAttribute("aria-label") ?? "",
    box: (group.querySelector("rect") as Element).getBoundingClientRect(),
    text: (group.querySelector("text") as Element).getBoundingClientRect(),
  }));
  const edges = [...svg.querySelectorAll("g.edge:not(.dim)")];
  const labels = edges.flatMap((edge) => [...edge.querySelectorAll("text")].map((text) => ({ text: text.textContent ?? "", box: text.getBoundingClientRect() })));
  const meet = (one: DOMRect, other: DOMRect) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  labels.forEach(({ text, box }, which) => {
    if (nodes.some((node) => meet(box, node.box))) found.push(`label ${text} upon a node`);
    if (labels.slice(which + 1).some((other) => meet(box, other.box))) found.push(`label ${text} upon another`);
    if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom) found.push(`label ${text} is cut off`);
  });
  for (const edge of edges) {
    const line = edge.querySelector("path");
    const tip = edge.querySelector(".tip")?.getBoundingClientRect();
    if (!line) continue;
    const matrix = line.getScreenCTM();
    const length = line.getTotalLength();
    for (let at = 0; at <= length; at += 2) {
      const point = line.getPointAtLength(at).matrixTransform(matrix ?? undefined);
      // The text is as high as its letters, its box somewhat higher.
      const hit = labels.find(({ box }) => point.x > box.left && point.x < box.right && point.y > box.top + 1 && point.y < box.bottom - 1);
      if (hit) {
        found.push(`label ${hit.text} upon a line`);
        break;
      }
    }
    if (!tip || tip.width < 5 || tip.height < 5) found.push("a line without an arrowhead");
    else {
      if (tip.left < frame.left || tip.right > frame.right || tip.top < frame.top || tip.bottom > frame.bottom) found.push("an arrowhead outside of the map");
      const upon = nodes.find((node) => meet(tip, node.box));
      if (upon) found.push(`an arrowhead covered by ${upon.name}`);
    }
  }
  nodes.forEach((node, which) => {
    const over = nodes.slice(which + 1).find((other) => meet(node.box, other.box));
    if (over) found.push(`${node.name} upon ${over.name}`);
    if (node.text.left < node.box.left + 1 || node.text.right > node.box.right - 1) found.push(`the name of ${node.name} is wider than its box`);
  });
  const scale = (svg as SVGSVGElement).getScreenCTM()?.a ?? 0;
  for (const text of svg.querySelectorAll("text, tspan")) {
    const size = parseFloat(getComputedStyle(text).fontSize) * scale;
    if (size < 10.5) found.push(`text of ${size.toFixed(1)} px: ${text.textContent}`);
  }
  return found;
}

/** Problems of a timeline: labels over each other or over lines between rows, or too small. */
export function badTimeline(): string[] {
  const svg = document.querySelector("svg.timeline");
  if (!svg) return ["there is no timeline"];
  const found: string[] = [];
  const scale = (svg as SVGSVGElement).getScreenCTM()?.a ?? 0;
  const labels = [...svg.querySelectorAll("text")].map((text) => ({ text: text.textContent ?? "", box: text.getBoundingClientRect(), size: parseFloat(getComputedStyle(text).fontSize) * scale }));
  const frame = svg.getBoundingClientRect();
  labels.forEach(({ text, box, size }, which) => {
    if (size < 10.5) found.push(`text of ${size.toFixed(1)} px: ${text}`);
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1) found.push(`${text} is cut off`);
    for (const fork of svg.querySelectorAll("line.fork")) {
      const line = fork.getBoundingClientRect();
      if (line.left > box.left + 2 && line.left < box.right - 2 && line.top < box.bottom - 4 && line.bottom > box.top + 4) found.push(`${text} upon a line`);
    }
    for (const other of labels.slice(which + 1)) {
      const width = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
      const height = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
      // The box of a line of text is higher than its letters.
      if (width > 1 && height > 4) found.push(`${text} upon ${other.text}`);
    }
  });
  return found;
}

/** Problems of axes below drawings: labels over each other, outside of the drawing's frame, or none at all. */
export function badAxes(): string[] {
  const found: string[] = [];
  for (const axis of document.querySelectorAll(".axis")) {
    if (!axis.checkVisibility()) continue;
    const labels = [...axis.querySelectorAll("span")].map((label) => ({ text: label.textContent ?? "", box: label.getBoundingClientRect() }));
    const frame = axis.getBoundingClientRect();
    if (labels.length === 0) found.push("an axis without labels");
    labels.forEach(({ text, box }, which) => {
      if (box.left < frame.left - 4 || box.right > frame.right + 4) found.push(`label ${text} stands out`);
      const upon = labels.slice(which + 1).find((other) => box.left < other.box.right && other.box.left < box.right);
      if (upon) found.push(`label ${text} upon ${upon.text}`);
    });
  }
  return found;
}

/** Problems of a waterfall: a bar that does not begin where the one above it ends, is outside of its track, or points the wrong way. */
export function badWaterfall(): string[] {
  const found: string[] = [];
  const bars = [...document.querySelectorAll(".waterfall li")].map((line) => {
    const fall = line.querySelector(".fall") as HTMLElement;
    const { left, right } = fall.getBoundingClientRect();
    const track = (line.querySelector(".track") as HTMLElement).getBoundingClientRect();
    if (left < track.left - 3 || right > track.right + 3) found.push(`${line.textContent} is beyond its track`);
    return { text: line.textContent ?? "", left, right, isEnd: line.classList.contains("end"), isMore: fall.classList.contains("worse") };
  });
  if (bars.length < 2) return ["there is no waterfall"];
  let at = bars[0]?.right ?? 0;
  for (const { text, left, right, isEnd, isMore } of bars.slice(1)) {
    const [begin, end] = isEnd ? [right, right] : isMore ? [left, right] : [right, left];
    // Bars have a minimum width, so that they are visible.
    if (Math.abs(begin - at) > 3.5) found.push(`${text} begins at ${begin.toFixed(1)} instead of ${at.toFixed(1)}`);
    at = end;
  }
  return found;
}
