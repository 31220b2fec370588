import { Component, html, useLayoutEffect, useRef, useState } from '../lib/preact.js';
import { RowOffsets } from './row-offsets.js';

/** How far beyond the visible part rows are drawn, in pixels. */
const MARGIN = 400;
/** The same above the visible part while new rows are followed: scrolling up draws more at once. */
const MARGIN_ABOVE = 100;
/** New rows are followed while the reader is nearer to the end than this, in pixels. */
const AT_END = 48;

/**
 * A list of any length that draws only its visible rows. Rows may have any height, which is estimated until they are drawn.
 * While the reader is at the end, new rows are followed. Rows that did not change are not drawn again.
 * @param draw `(index) => element` of a row; @param rowAt `(index) => {key, kind}`: rows of a kind have similar heights;
 * @param dependsOn `(index) => values` that the row is drawn from; @param estimate the first row's height in pixels;
 * @param follow whether more rows may come.
 */
export function VirtualList({ count, draw, rowAt, dependsOn, estimate, label, follow = false }) {
  const box = useRef(null);
  const state = useRef(null);
  state.current ??= { offsets: new RowOffsets(estimate), atEnd: follow, top: 0, height: 800, drawn: [0, 0], total: 0 };
  const list = state.current;
  const { offsets } = list;
  const [, redraw] = useState(0);
  const observer = useRef(null);

  useLayoutEffect(() => {
    const measure = new ResizeObserver((entries) => {
      let changed = false;
      for (const { target, borderBoxSize } of entries) {
        const height = borderBoxSize[0].blockSize;
        if (height === 0) continue;
        if (target === box.current) {
          changed ||= list.height !== target.clientHeight;
          list.height = target.clientHeight;
        } else if (offsets.measured(target.dataset.key, height)) {
          changed = true;
        }
      }
      if (changed) redraw((n) => n + 1);
    });
    measure.observe(box.current);
    observer.current = measure;
    return () => measure.disconnect();
  }, []);

  offsets.update(count, rowAt);
  const following = follow && list.atEnd;
  const top = following ? Math.max(0, offsets.total - list.height) : list.top;
  const [first, end] = offsets.between(top - (following ? MARGIN_ABOVE : MARGIN), top + list.height + MARGIN);
  list.drawn = [first, end];

  // Scroll before the browser lays out the page, so that it does so once, and only if the end has moved.
  useLayoutEffect(() => {
    const { total } = offsets;
    if (!following || list.total === total) return;
    list.total = total;
    box.current.scrollTop = total;
    list.top = box.current.scrollTop;
  });

  const onScroll = () => {
    // A list that is being removed may still get scroll events.
    if (!box.current) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    // Growing rows are followed, too: only scrolling up leaves the end.
    const wentUp = scrollTop < list.top - 1;
    list.atEnd = scrollHeight - scrollTop - clientHeight < AT_END || (list.atEnd && !wentUp);
    list.top = scrollTop;
    const [wantedFirst, wantedEnd] = offsets.between(list.top - MARGIN / 2, list.top + list.height + MARGIN / 2);
    const [drawnFirst, drawnEnd] = list.drawn;
    if (wantedFirst < drawnFirst || wantedEnd > drawnEnd) redraw((n) => n + 1);
  };
  const rows = [];
  for (let index = first; index < end; index += 1) {
    const key = offsets.keyAt(index);
    rows.push(
      html`<${Row} key=${key} id=${key} observer=${observer} place=${index} count=${follow ? -1 : count} depends=${dependsOn(index)} draw=${draw} />`,
    );
  }
  return html`<div class="virtual" ref=${box} onScroll=${onScroll} tabindex="0" role="list" aria-label=${label} data-full=${offsets.total > list.height}>
    <div style=${{ height: `${offsets.startOf(first)}px` }} aria-hidden="true"></div>
    ${rows}
    <div style=${{ height: `${offsets.total - offsets.startOf(end)}px` }} aria-hidden="true"></div>
  </div>`;
}

/** One row, drawn again only when one of its `depends` changed. */
class Row extends Component {
  shouldComponentUpdate({ place, count, depends }) {
    const { props } = this;
    if (place !== props.place || count !== props.count || depends.length !== props.depends.length) return true;
    return depends.some((value, index) => value !== props.depends[index]);
  }

  componentDidMount() {
    this.props.observer.current?.observe(this.base);
  }

  componentWillUnmount() {
    this.props.observer.current?.unobserve(this.base);
  }

  render({ id, place, count, draw }) {
    return html`<div class="row" role="listitem" aria-posinset=${place + 1} aria-setsize=${count} data-key=${id}>
      ${draw(place)}
    </div>`;
  }
}
