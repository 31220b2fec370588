import { html } from '../lib/preact.js';

const HEIGHT = 120;
const STEP = 16;
const WIDTH = 11;

/** A bar chart of values: `{name, value, about}`. A table beside it has the same values. */
export function Bars({ bars, label }) {
  const max = Math.max(...bars.map(({ value }) => value), 0);
  const width = bars.length * STEP;
  return html`<svg class="bars" role="img" aria-label=${label} viewBox=${`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none">
    ${bars.map(({ name, value, about }, at) => {
      const height = max === 0 ? 0 : Math.max(value > 0 ? 1.5 : 0, (value / max) * (HEIGHT - 4));
      return html`<g key=${name}><title>${about}</title>
        <rect class="bar-place" x=${at * STEP} y="0" width=${STEP} height=${HEIGHT} />
        <rect class="bar" x=${at * STEP + (STEP - WIDTH) / 2} y=${HEIGHT - height} width=${WIDTH} height=${height} />
      </g>`;
    })}
  </svg>`;
}
