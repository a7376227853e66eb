// The width of the place of a drawing, as it changes.

import { useEffect, useRef, useState } from "preact/hooks";

/** A reference for an element, and its width within its padding in pixels; 0 while it is not known. */
export function useWidth<Place extends HTMLElement>(): [{ current: Place | null }, number] {
  const place = useRef<Place>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const measure = () => {
      const { paddingLeft, paddingRight } = getComputedStyle(element);
      setWidth(Math.floor(element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}
