import { html, useEffect, useLayoutEffect, useRef, useState } from '../lib/preact.js';

/** Rows outside of the window that are drawn all the same, in pixels. */
const MARGIN = 400;
/** Nearer to the end than this, new rows are followed, in pixels. */
const AT_END = 48;

/**
 * A list of any length of which only what can be seen is drawn. Rows may have any height; heights are guessed until a
 * row was drawn. While the reader is at the end, new rows are followed.
 * @param draw `(index) => element` of a row; @param keyOf `(index) => key`; @param estimate a row's height in pixels.
 */
export function VirtualList({ count, draw, keyOf, estimate, label, follow = false, version }) {
  const box = useRef(null);
  const heights = useRef(new Map());
  const atEnd = useRef(follow);
  const [, redraw] = useState(0);
  const [view, setView] = useState({ top: 0, height: 800 });
  const observer = useRef(null);

  useLayoutEffect(() => {
    const measure = new ResizeObserver((entries) => {
      let changed = false;
      for (const { target, borderBoxSize } of entries) {
        if (target === box.current) {
          setView(viewOf(box.current));
          continue;
        }
        const key = target.dataset.key;
        const height = borderBoxSize[0].blockSize;
        if (height === 0 || heights.current.get(key) === height) continue;
        heights.current.set(key, height);
        changed = true;
      }
      if (changed) redraw((n) => n + 1);
    });
    measure.observe(box.current);
    observer.current = measure;
    return () => measure.disconnect();
  }, []);

  const offsets = new Float64Array(count + 1);
  for (let index = 0; index < count; index += 1) {
    offsets[index + 1] = offsets[index] + (heights.current.get(String(keyOf(index))) ?? estimate);
  }
  const first = Math.max(0, firstAfter(offsets, view.top - MARGIN) - 1);
  const end = Math.min(count, firstAfter(offsets, view.top + view.height + MARGIN));

  useEffect(() => {
    const element = box.current;
    if (follow && atEnd.current) element.scrollTop = element.scrollHeight;
  });

  const scrolled = () => {
    const element = box.current;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < AT_END;
    setView(viewOf(element));
  };
  const rows = [];
  for (let index = first; index < end; index += 1) {
    const key = String(keyOf(index));
    rows.push(
      html`<${Row} key=${key} id=${key} observer=${observer} place=${index + 1} count=${count}>${draw(index)}<//>`,
    );
  }
  return html`<div class="virtual" ref=${box} onScroll=${scrolled} tabindex="0" role="list" aria-label=${label} data-version=${version}>
    <div style=${{ height: `${offsets[first]}px` }} aria-hidden="true"></div>
    ${rows}
    <div style=${{ height: `${offsets[count] - offsets[end]}px` }} aria-hidden="true"></div>
  </div>`;
}

function Row({ id, observer, place, count, children }) {
  const element = useRef(null);
  useEffect(() => {
    const own = element.current;
    observer.current?.observe(own);
    return () => observer.current?.unobserve(own);
  }, []);
  return html`<div class="row" role="listitem" aria-posinset=${place} aria-setsize=${count} data-key=${id} ref=${element}>
    ${children}
  </div>`;
}

function viewOf(element) {
  return { top: element.scrollTop, height: element.clientHeight };
}

/** Index of the first offset above `at`. */
function firstAfter(offsets, at) {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (offsets[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
