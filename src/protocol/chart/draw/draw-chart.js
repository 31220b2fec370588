import { bandScale, linearScale, numberText, timeScale } from './scales.js';
import { node, round, shortened, textNode, widthOf, wrapped } from './shapes.js';

/**
 * Draws a validated chart (`ChartSpec`) as a tree of SVG elements, `{tag, attributes, children}`, which the gateway
 * serialises and the console turns into DOM elements. Text and lines have the colour of the surrounding text. There are
 * no styles, scripts or links, only shapes and text.
 */

const WIDTH = 640;
const EDGE = 12;
const PLOT_HEIGHT = 260;
const BAR_HEIGHT = 24;
/** The maximum height of all horizontal bars together. */
const MAX_BARS_HEIGHT = 1600;
const MAX_LABEL_WIDTH = 180;
/** Colours with enough contrast on light and on dark backgrounds. */
const COLOURS = [
  ...['#4c78a8', '#d2691e', '#3f8f5f', '#b5546b', '#8a6bb8', '#8c7a4b'],
  ...['#3d8b99', '#a05a2c', '#7d8c2f', '#c2528f', '#5f6fc4', '#7a7f87'],
];

/** Draws a chart as a tree of SVG elements. */
export function drawChart(chart) {
  const top = heading(chart);
  const body = chart.mark === 'arc' ? pie(chart, top.height) : plot(chart, top.height);
  const height = round(body.height + EDGE);
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${WIDTH} ${height}`,
    role: 'img',
    direction: 'ltr',
    fill: 'currentColor',
    'font-family': 'system-ui, sans-serif',
    'font-size': '12',
    class: 'chart',
  };
  return node('svg', attributes, [
    node('title', {}, [chart.title]),
    node('desc', {}, [describe(chart)]),
    ...top.nodes,
    ...body.nodes,
  ]);
}

const KINDS = { bar: 'Bar chart', line: 'Line chart', point: 'Points', area: 'Area chart', arc: 'Pie chart' };
/** How many rows the description includes. */
const MAX_ROWS = 40;

/** Describes a chart in text, for readers who cannot see it. */
function describe({ mark, description, encoding, data: { values } }) {
  const channels = Object.values(encoding).filter(Boolean);
  const names = channels.map(({ title, field }) => title ?? field).join(', ');
  const rows = values.slice(0, MAX_ROWS).map((row) => channels.map(({ field }) => textOf(row[field])).join(', '));
  const more = values.length > MAX_ROWS ? ` … (${values.length})` : '';
  return `${description ? `${description} ` : ''}${KINDS[mark]}: ${names}. ${rows.join('; ')}${more}`;
}

function textOf(value) {
  return typeof value === 'number' ? numberText(value) : value;
}

/** The title and the legend of the colours. */
function heading(chart) {
  const { title, encoding, data } = chart;
  const nodes = [];
  let y = EDGE;
  for (const line of wrapped(title, { width: WIDTH - 2 * EDGE, size: 15, lines: 2 })) {
    y += 18;
    nodes.push(textNode(line, { x: EDGE, y, size: 15, weight: 600 }));
  }
  y += 8;
  const names = encoding.color ? seriesOf(chart) : [];
  if (encoding.color) {
    const total = chart.mark === 'arc' ? sum(data.values.map((row) => row[encoding.theta.field])) : 0;
    let x = EDGE;
    y += 14;
    for (const [index, name] of names.entries()) {
      const label =
        chart.mark === 'arc' ? `${shortened(textOf(name), 40)}: ${share(chart, name, total)}` : textOf(name);
      const text = shortened(label, 64);
      const width = 20 + widthOf(text, 12);
      if (x > EDGE && x + width > WIDTH - EDGE) {
        x = EDGE;
        y += 18;
      }
      nodes.push(node('rect', { x: round(x), y: y - 9, width: 10, height: 10, fill: colourOf(index) }));
      nodes.push(textNode(text, { x: x + 15, y, size: 12 }));
      x += width + 14;
    }
    y += 6;
  }
  return { nodes, height: y };
}

/** The value of a pie's slice, with its percentage. */
function share({ encoding: { theta, color }, data: { values } }, name, total) {
  const value = values.find((row) => row[color.field] === name)[theta.field];
  return `${numberText(value)} (${numberText((value / total) * 100, 3)} %)`;
}

function seriesOf({ encoding: { color }, data: { values } }) {
  return color ? [...new Set(values.map((row) => row[color.field]))] : [undefined];
}

function colourOf(index) {
  return COLOURS[index % COLOURS.length];
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function pie(chart, top) {
  const { encoding, data } = chart;
  const radius = 110;
  const centre = { x: WIDTH / 2, y: top + radius + 10 };
  const total = sum(data.values.map((row) => row[encoding.theta.field]));
  const nodes = [];
  let start = 0;
  for (const [index, row] of data.values.entries()) {
    const fraction = row[encoding.theta.field] / total;
    const tooltip = node('title', {}, [describeRow(chart, row)]);
    const style = { fill: colourOf(index), stroke: 'none' };
    if (fraction >= 0.9999) {
      nodes.push(node('circle', { cx: centre.x, cy: round(centre.y), r: radius, ...style }, [tooltip]));
    } else if (fraction > 0) {
      const end = start + fraction;
      const pointAt = (turn) => {
        const angle = (turn - 0.25) * 2 * Math.PI;
        return `${round(centre.x + radius * Math.cos(angle))} ${round(centre.y + radius * Math.sin(angle))}`;
      };
      const arc = `A${radius} ${radius} 0 ${fraction > 0.5 ? 1 : 0} 1 ${pointAt(end)}`;
      nodes.push(node('path', { d: `M${centre.x} ${round(centre.y)}L${pointAt(start)}${arc}Z`, ...style }, [tooltip]));
    }
    start += fraction;
  }
  return { nodes, height: centre.y + radius };
}

function describeRow({ encoding }, row) {
  return Object.values(encoding)
    .filter(Boolean)
    .map(({ title, field }) => `${title ?? field}: ${textOf(row[field])}`)
    .join(', ');
}

/** Draws any chart with two axes. */
function plot(chart, top) {
  const { mark, encoding, data } = chart;
  const { x, y } = encoding;
  const isHorizontal = mark === 'bar' && x.type === 'quantitative';
  const [category, measure] = isHorizontal ? [y, x] : [x, y];
  const shapes = mark === 'bar' || mark === 'area' ? stacked(chart, category, measure) : undefined;
  const domain = (channel) => {
    if (shapes && channel === measure) return shapes.flatMap(({ from, to }) => [from, to]);
    return data.values.map((row) => row[channel.field]);
  };
  const bands = new Set(data.values.map((row) => row[y.field])).size;
  const height =
    y.type === 'quantitative' || y.type === 'temporal' ? PLOT_HEIGHT : Math.min(bands * BAR_HEIGHT, MAX_BARS_HEIGHT);
  const scale = (channel, place) => {
    const zero = shapes !== undefined && channel === measure;
    return scaleOf(channel, { values: domain(channel), mark, zero, ...place });
  };
  const vertical = scale(y, { size: height, room: 16 });
  const widest = Math.max(...vertical.ticks.map(({ text }) => widthOf(text, 12)));
  const left = EDGE + Math.min(MAX_LABEL_WIDTH, widest) + 8;
  const width = WIDTH - left - EDGE - 8;
  const horizontal = scale(x, { size: width, room: 72 });
  const plotTop = top + 22;
  const isUpward = vertical.kind !== 'band';
  const placeX = (value) => left + horizontal.at(value);
  const placeY = (value) => plotTop + (isUpward ? height - vertical.at(value) : vertical.at(value));
  const area = { left, plotTop, width, height, placeX, placeY, horizontal, vertical, isHorizontal };
  const marks = { bar: bars, line: lines, point: points, area: areas }[mark];
  const titleY = textNode(shortened(y.title ?? y.field, 80), { x: EDGE, y: top + 12, size: 12, soft: true });
  const titleX = textNode(shortened(x.title ?? x.field, 80), {
    ...{ x: left + width / 2, y: plotTop + height + 36, size: 12, soft: true, anchor: 'middle' },
  });
  return { nodes: [titleY, ...axes(area), ...marks(chart, area, shapes), titleX], height: plotTop + height + 38 };
}

function scaleOf(channel, { values, mark, zero, size, room }) {
  const isBand = mark === 'bar' ? channel.type !== 'quantitative' : /nominal|ordinal/.test(channel.type);
  if (isBand) return bandScale(values, { size, room });
  if (channel.type === 'temporal') return timeScale(values, { size });
  return linearScale(values, { size, zero });
}

function axes({ left, plotTop, width, height, placeX, placeY, horizontal, vertical }) {
  const line = (x1, y1, x2, y2, soft) =>
    node('line', {
      ...{ x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2) },
      ...{ stroke: 'currentColor', 'stroke-opacity': soft ? '0.15' : '0.6' },
    });
  const nodes = [];
  for (const { value, text } of vertical.ticks) {
    const at = placeY(value);
    if (vertical.kind !== 'band') nodes.push(line(left, at, left + width, at, true));
    const tickLabel = shortened(text, 26);
    const place = { x: left - 6, y: at + 4, anchor: 'end', maxWidth: MAX_LABEL_WIDTH };
    nodes.push(textNode(tickLabel, { ...place, size: 12, soft: true }));
  }
  for (const { value, text } of horizontal.ticks) {
    const at = placeX(value);
    if (horizontal.kind !== 'band') nodes.push(line(at, plotTop, at, plotTop + height, true));
    const tickLabel = shortened(text, Math.max(4, Math.floor(horizontal.room / 7)));
    nodes.push(textNode(tickLabel, { x: at, y: plotTop + height + 17, size: 12, anchor: 'middle', soft: true }));
  }
  nodes.push(line(left, plotTop, left, plotTop + height, false));
  nodes.push(line(left, plotTop + height, left + width, plotTop + height, false));
  return nodes;
}

/** The start and end of each row: rows in one place are stacked, as in Vega-Lite. */
function stacked(chart, place, measure) {
  const names = seriesOf(chart);
  const { color } = chart.encoding;
  const ends = new Map();
  const order = names.flatMap((name) => chart.data.values.filter((row) => !color || row[color.field] === name));
  return order.map((row) => {
    const value = row[measure.field];
    const key = `${value < 0 ? '-' : '+'}${typeof row[place.field]} ${row[place.field]}`;
    const from = ends.get(key) ?? 0;
    ends.set(key, from + value);
    return {
      row,
      place: row[place.field],
      series: color ? names.indexOf(row[color.field]) : 0,
      from,
      to: from + value,
    };
  });
}

function bars(chart, { placeX, placeY, horizontal, vertical, isHorizontal }, shapes) {
  const thickness = Math.max(1, (isHorizontal ? vertical : horizontal).step * 0.72);
  return shapes.map(({ row, place, series, from, to }) => {
    const [a, b] = isHorizontal ? [placeX(from), placeX(to)] : [placeY(from), placeY(to)];
    const length = { start: round(Math.min(a, b)), size: round(Math.abs(a - b)) };
    const across = {
      start: round((isHorizontal ? placeY(place) : placeX(place)) - thickness / 2),
      size: round(thickness),
    };
    const box = isHorizontal
      ? { x: length.start, y: across.start, width: length.size, height: across.size }
      : { x: across.start, y: length.start, width: across.size, height: length.size };
    return node('rect', { ...box, fill: colourOf(series) }, [node('title', {}, [describeRow(chart, row)])]);
  });
}

/** The rows of each series, from left to right. */
function rowsBySeries(chart, placeX) {
  const { encoding, data } = chart;
  return seriesOf(chart).map((name) => ({
    name,
    rows: data.values
      .filter((row) => name === undefined || row[encoding.color.field] === name)
      .sort((a, b) => placeX(a[encoding.x.field]) - placeX(b[encoding.x.field])),
  }));
}

function lines(chart, area) {
  const { x, y } = chart.encoding;
  const drawn = rowsBySeries(chart, area.placeX).map(({ rows }, index) => {
    const path = rows.map((row) => `${round(area.placeX(row[x.field]))} ${round(area.placeY(row[y.field]))}`);
    return node('path', { d: `M${path.join('L')}`, fill: 'none', stroke: colourOf(index), 'stroke-width': '2' });
  });
  return [...drawn, ...points(chart, area)];
}

function points(chart, { placeX, placeY }) {
  const { x, y } = chart.encoding;
  return rowsBySeries(chart, placeX).flatMap(({ rows }, index) =>
    rows.map((row) =>
      node(
        'circle',
        { cx: round(placeX(row[x.field])), cy: round(placeY(row[y.field])), r: '3', fill: colourOf(index) },
        [node('title', {}, [describeRow(chart, row)])],
      ),
    ),
  );
}

function areas(chart, { placeX, placeY }, shapes) {
  return seriesOf(chart).map((_, index) => {
    const points = shapes
      .filter(({ series }) => series === index)
      .sort((a, b) => placeX(a.place) - placeX(b.place))
      .map(({ place, from, to }) => ({ x: round(placeX(place)), from: round(placeY(from)), to: round(placeY(to)) }));
    const upperEdge = points.map(({ x, to }) => `${x} ${to}`);
    const lowerEdge = points.reverse().map(({ x, from }) => `${x} ${from}`);
    const colour = colourOf(index);
    return node('path', {
      d: `M${[...upperEdge, ...lowerEdge].join('L')}Z`,
      fill: colour,
      'fill-opacity': '0.75',
      stroke: colour,
    });
  });
}
