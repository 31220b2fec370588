import { figure } from './measure.ts';

/** One line of a plot. */
export interface Series {
  name: string;
  points: readonly (readonly [x: number, y: number])[];
}

export interface Plot {
  title: string;
  x: string;
  y: string;
  series: readonly Series[];
}

const WIDTH = 560;
const HEIGHT = 320;
const LEFT = 64;
const RIGHT = 16;
const TOP = 36;
const BOTTOM = 64;
const COLOURS = ['#1f6feb', '#d1570c', '#1a7f37', '#8250df'];

/** A plot with logarithmic axes as SVG: what grows tenfold with its cause is a line at one slope, whatever the decade. */
export function svgPlot({ title, x, y, series }: Plot): string {
  const all = series.flatMap(({ points }) => points);
  const across = scale(
    all.map(([value]) => value),
    LEFT,
    WIDTH - RIGHT,
  );
  const up = scale(
    all.map(([, value]) => value),
    HEIGHT - BOTTOM,
    TOP,
  );
  const lines = series.map(({ points }, index) => {
    const colour = COLOURS[index % COLOURS.length];
    const path = points.map(([px, py]) => `${across.at(px)},${up.at(py)}`).join(' ');
    const dots = points.map(([px, py]) => `<circle cx="${across.at(px)}" cy="${up.at(py)}" r="3" fill="${colour}"/>`);
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}`;
  });
  const legend = series.map(({ name }, index) => {
    const left = LEFT + index * 160;
    return `<rect x="${left}" y="${HEIGHT - 18}" width="10" height="10" fill="${COLOURS[index % COLOURS.length]}"/>
<text x="${left + 15}" y="${HEIGHT - 9}">${name}</text>`;
  });
  const vertical = across.ticks.map(
    (tick) => `<line x1="${across.at(tick)}" x2="${across.at(tick)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>
<text x="${across.at(tick)}" y="${HEIGHT - BOTTOM + 14}" text-anchor="middle">${label(tick)}</text>`,
  );
  const horizontal = up.ticks.map(
    (tick) => `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${up.at(tick)}" y2="${up.at(tick)}"/>
<text x="${LEFT - 6}" y="${up.at(tick) + 4}" text-anchor="end">${label(tick)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="#57606a">
<title>${title}</title>
<style>line{stroke:#d0d7de}</style>
<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>
<text x="${LEFT}" y="20" font-size="13" fill="#24292f">${title}</text>
${[...vertical, ...horizontal, ...lines, ...legend].join('\n')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - BOTTOM + 30}" text-anchor="middle">${x}</text>
<text transform="translate(14 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${y}</text>
</svg>
`;
}

/** Whole decades around the values, laid from `from` to `to`. */
function scale(values: readonly number[], from: number, to: number) {
  const low = Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))));
  const at = (value: number) => Math.round((from + ((Math.log10(value) - low) / (high - low)) * (to - from)) * 10) / 10;
  return { at, ticks: Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n)) };
}

function label(value: number): string {
  return value >= 1000 ? value.toLocaleString('en') : value >= 1 ? String(value) : figure(value);
}
