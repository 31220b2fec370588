import { html } from '../lib/preact.js';

/** Strokes on a 20 by 20 grid, in the text's colour. */
const PATHS = {
  ask: 'M10 4v12M4 10h12',
  documents: 'M5.5 3.5h6l3 3v10h-9zM11.5 3.5v3h3M8 10h4.5M8 13h4.5',
  runs: 'M4 5.5h12M4 10h12M4 14.5h12',
  compare: 'M4 4.5h5v11H4zM11 4.5h5v11h-5z',
  operate: 'M3 10.5h3l2-5 3.5 9 2-4H17',
  search: 'M8.8 13.6a4.8 4.8 0 1 0 0-9.6 4.8 4.8 0 0 0 0 9.6M12.4 12.4 16 16',
  read: 'M10 5.6C8.4 4.4 6 4 3.5 4.3v10.4C6 14.4 8.4 14.8 10 16c1.6-1.2 4-1.6 6.5-1.3V4.3C14 4 11.6 4.4 10 5.6zM10 5.6V16',
  code: 'm7 6-4 4 4 4M13 6l4 4-4 4',
  plug: 'M7.5 3.5v4M12.5 3.5v4M5.5 7.5h9v2a4.5 4.5 0 0 1-9 0zM10 14v3',
  thought: 'M4 9.5a6 5 0 1 1 3.2 4.4L4.5 15l.9-2.4A4.7 4.7 0 0 1 4 9.5z',
  pen: 'm4 16 .8-3.4 8.7-8.7 2.6 2.6-8.7 8.7zM11.8 5.6l2.6 2.6',
  open: 'M10 15.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11',
  doing: 'M10 15.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M10 7v3l2 1.5',
  check: 'm4.5 10.5 3.5 3.5 7.5-8',
  cross: 'm5.5 5.5 9 9M14.5 5.5l-9 9',
  stop: 'M6 6h8v8H6z',
  down: 'm5.5 8 4.5 4.5L14.5 8',
  copy: 'M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3',
  save: 'M10 4v8.5M6.5 9.5 10 13l3.5-3.5M4.5 16h11',
  print: 'M6 8V4h8v4M6 13H4V8h12v5h-2M6 11.5h8V16H6z',
  play: 'M7 5.5v9l7.5-4.5z',
  pause: 'M7.5 5.5v9M12.5 5.5v9',
  replay: 'M4.5 10a5.5 5.5 0 1 0 1.8-4.1M4.5 4v3.5H8',
  trash: 'M5 6.5h10M8 6.5v-2h4v2M6.5 6.5l.6 9h5.8l.6-9',
  sun: 'M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6M10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4',
  moon: 'M15.5 12A6.3 6.3 0 0 1 8 4.5 6 6 0 1 0 15.5 12z',
  auto: 'M10 3.5a6.5 6.5 0 1 0 0 13zM10 3.5a6.5 6.5 0 0 1 0 13',
  leave: 'M8 4H4.5v12H8M12 6.5l3.5 3.5-3.5 3.5M15.5 10H8',
  clip: 'm14.5 9-5 5a3 3 0 0 1-4.3-4.3L11 4a2 2 0 0 1 2.9 2.9l-5.5 5.5a1 1 0 0 1-1.4-1.4l4.7-4.7',
  warn: 'M10 4 3.5 15.5h13zM10 8.5v3.5M10 13.8v.2',
  link: 'M11 5h4v4M15 5l-6.5 6.5M8.5 6H5v9h9v-3.5',
  more: 'M5 10h.01M10 10h.01M15 10h.01',
};

/** A decorative icon; the text beside it, or the button's label, says what it means. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}
