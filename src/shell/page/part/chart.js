// Curves, bars and small curves: SVG that the browser stretches, its words in HTML beside it.

import { h } from './dom.js';
import { clock, count, short, when } from './format.js';

const WIDE = 1000;
const HIGH = 100;
const HOUR = 3600000;

const isKnown = (value) => value !== null && value !== undefined;
const knownOf = (values) => values.filter(isKnown);

/** A line through values; where one is not known, the line is broken. */
function line(values, max) {
  const step = WIDE / Math.max(1, values.length - 1);
  let isDown = false;
  const points = values.map((value, at) => {
    if (!isKnown(value)) {
      isDown = false;
      return '';
    }
    const pen = isDown ? 'L' : 'M';
    isDown = true;
    return `${pen}${(at * step).toFixed(1)} ${(HIGH - (HIGH * value) / (max || 1)).toFixed(2)}`;
  });
  return points.join('');
}

/** The area below each unbroken run of values. */
function area(values, max) {
  const step = WIDE / Math.max(1, values.length - 1);
  let path = '';
  let from = -1;
  for (let at = 0; at <= values.length; at += 1) {
    const has = at < values.length && isKnown(values[at]);
    if (has && from < 0) from = at;
    if (!has && from >= 0) {
      const run = values.slice(from, at);
      const points = run.map(
        (value, i) =>
          `${((from + i) * step).toFixed(1)} ${(HIGH - (HIGH * value) / (max || 1)).toFixed(2)}`,
      );
      path += `M${(from * step).toFixed(1)} ${HIGH}L${points.join('L')}L${((at - 1) * step).toFixed(1)} ${HIGH}Z`;
      from = -1;
    }
  }
  return path;
}

/** The next round number above. */
function roundUp(max) {
  if (max <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((it) => it * unit).find((it) => it >= max * 0.999);
}

const stroke = (color, width, dash) => ({
  fill: 'none',
  stroke: color,
  'stroke-width': width,
  'stroke-linejoin': 'round',
  'stroke-dasharray': dash,
  'vector-effect': 'non-scaling-stroke',
});

const svg = (box, ...shapes) =>
  h('svg', { viewBox: box, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, shapes);

/** A small curve without axes, for beside its figure. */
export function spark(values = [], { color = 'var(--run)', height = 28, label = '' } = {}) {
  const all = knownOf(values);
  if (all.length < 2) return h('span.spark.none', { style: { height: `${height}px` } });
  const max = Math.max(...all, 1e-9) * 1.06;
  const last = all.at(-1);
  const text = `lowest ${short(Math.min(...all))}, highest ${short(Math.max(...all))}, now ${short(last)}`;
  return h(
    'span.spark',
    {
      role: 'img',
      'aria-label': `${label}, curve: ${text}`,
      title: text,
      style: { height: `${height}px` },
    },
    svg(
      `0 -3 ${WIDE} ${HIGH + 6}`,
      h('path', { d: area(values, max), fill: color, opacity: 0.13 }),
      h('path', { d: line(values, max), ...stroke(color, 1.5) }),
    ),
    isKnown(values.at(-1)) &&
      h('i', {
        style: {
          top: `${(100 * (3 + HIGH - (HIGH * last) / max)) / (HIGH + 6)}%`,
          background: color,
        },
      }),
  );
}

/** Ticks of a time axis. */
function ticks(from, to) {
  const wide = to - from;
  const steps = [0.25, 0.5, 1, 2, 4, 6, 12, 24, 48, 168].map((it) => it * HOUR);
  const step = steps.find((it) => wide / it <= 7) ?? 336 * HOUR;
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const x = (100 * (at - from)) / (wide || 1);
    if (x > 2 && x < 97)
      found.push(
        h(
          'span',
          { style: { left: `${x}%` } },
          step < 24 * HOUR ? clock(at) : when(at, 0).slice(0, 6),
        ),
      );
  }
  return h('div.axis', { 'aria-hidden': 'true' }, found);
}
export { ticks as timeAxis };

const key = (it, value) =>
  h(
    'span.key',
    {},
    h('i.swatch', { class: `swatch ${it.hatch ? 'hatch' : ''}`, style: { '--c': it.color } }),
    it.name,
    ' ',
    h('b', {}, value),
  );

function bars(values, base, max) {
  const wide = WIDE / values.length;
  const y = (value) => (HIGH - (HIGH * value) / max).toFixed(2);
  return values
    .map((value, at) => {
      if (!value) return '';
      const [left, right] = [at * wide + wide * 0.12, (at + 1) * wide - wide * 0.12];
      return `M${left.toFixed(1)} ${y(base[at])}V${y(base[at] + value)}H${right.toFixed(1)}V${y(base[at])}Z`;
    })
    .join('');
}

/** The shapes of a chart's series, those that are stacked from below. */
function shapesOf(series, max, length) {
  let base = Array(length).fill(0);
  const shapes = [];
  for (const it of series) {
    const drawn = it.stack
      ? it.values.map((value, at) => (isKnown(value) || base[at] ? base[at] + (value ?? 0) : null))
      : it.values;
    if (it.kind === 'bars')
      shapes.push(h('path', { d: bars(it.values, base, max), fill: it.color }));
    else if (it.stack) shapes.unshift(h('path', { d: area(drawn, max), fill: it.color }));
    else {
      if (it.kind !== 'line')
        shapes.push(h('path', { d: area(it.values, max), fill: it.color, opacity: 0.14 }));
      shapes.push(h('path', { d: line(it.values, max), ...stroke(it.color, 1.75) }));
    }
    if (it.stack) base = drawn.map((value) => value ?? 0);
  }
  return shapes;
}

/** Moments without any value that a gap explains; one between two values hides nothing. */
function holes(at, series, gaps) {
  const spans = [];
  at.forEach((_, i) => {
    if (series.some((it) => isKnown(it.values[i]))) return;
    const [from, to] = [at[Math.max(0, i - 1)], at[Math.min(at.length - 1, i + 1)]];
    if (from < spans.at(-1)?.to) spans.at(-1).to = to;
    else spans.push({ from, to, kind: 'gap' });
  });
  return spans.filter(({ from, to }) => gaps.some((gap) => gap.from < to && gap.to > from));
}

/**
 * Series over the same moments: {name, values, color, kind?: 'bars'|'line', stack?}. `at` are the
 * moments; `bands` spans that matter, {from, to, label}; `gaps` spans of which nothing is kept;
 * `limit` {value, label}. Pointer and arrow keys read values.
 */
export function chart({
  at,
  series,
  label,
  height = 130,
  bands = [],
  gaps = [],
  limit,
  unit = '',
}) {
  const all = series.flatMap((it) => knownOf(it.values));
  if (!all.length)
    return h(
      'figure.chart',
      {},
      h('figcaption', {}, h('span.title', {}, label)),
      h(
        'p.empty',
        {},
        h('b', {}, 'No curve yet'),
        'The history begins with the process; it grows with each snapshot.',
      ),
    );
  const sums = at.map((_, i) =>
    series.reduce((sum, it) => sum + (it.stack ? (it.values[i] ?? 0) : 0), 0),
  );
  const max = roundUp(Math.max(...all, ...sums, limit?.value ?? 0));
  const [from, to] = [at[0], at.at(-1)];
  const x = (moment) => Math.max(0, Math.min(100, (100 * (moment - from)) / (to - from || 1)));
  const cursor = h('span.cursor', { hidden: true });
  const readout = h('p.readout');
  const latest = (values) => values.findLast(isKnown);
  let shown = -1;
  const show = (index) => {
    shown = index;
    cursor.hidden = index < 0;
    if (index >= 0) cursor.style.left = `${x(at[index])}%`;
    readout.replaceChildren(
      ...(index < 0 ? [] : [h('span.key.when', {}, `${when(at[index], to)} UTC`)]),
      ...series.map((it) =>
        key(it, short(index < 0 ? latest(it.values) : it.values[index]) + unit),
      ),
    );
  };
  const last = at.length - 1;
  const plot = h(
    'div.plot',
    {
      role: 'img',
      tabindex: '0',
      style: { height: `${height}px` },
      'aria-label':
        `${label}, ${when(from)} to ${when(to)} UTC. ` +
        series
          .map(
            (it) =>
              `${it.name}: lowest ${short(Math.min(...knownOf(it.values)))}, highest ${short(Math.max(...knownOf(it.values)))}, now ${short(latest(it.values))}`,
          )
          .join('. ') +
        '. Arrow keys read values.',
      onpointermove: ({ clientX }) => {
        const box = plot.getBoundingClientRect();
        show(Math.max(0, Math.min(last, Math.round((last * (clientX - box.left)) / box.width))));
      },
      onpointerleave: () => show(-1),
      onblur: () => show(-1),
      onkeydown: (event) => {
        const move = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
        if (event.key === 'Escape') show(-1);
        if (!move) return;
        event.preventDefault();
        show(Math.max(0, Math.min(last, (shown < 0 ? last : shown) + move)));
      },
    },
    [0, 0.5, 1].map((part) =>
      h('span.rule', { style: { bottom: `${100 * part}%` } }, h('span', {}, short(max * part))),
    ),
    [...holes(at, series, gaps), ...bands]
      .filter((it) => it.to >= from && it.from <= to)
      .map((it) =>
        h(
          `span.band`,
          {
            class: `band ${it.kind ?? ''}`,
            title: it.kind ? 'nothing is kept of this time' : null,
            style: { left: `${x(it.from)}%`, width: `${x(it.to) - x(it.from)}%` },
          },
          it.label && h('span', {}, it.label),
        ),
      ),
    svg(`0 0 ${WIDE} ${HIGH}`, shapesOf(series, max, at.length)),
    limit &&
      h(
        'span.limit',
        { style: { bottom: `${(100 * limit.value) / max}%` } },
        h('span', {}, limit.label),
      ),
    cursor,
  );
  show(-1);
  return h(
    'figure.chart',
    {},
    h('figcaption', {}, h('span.title', {}, label), readout),
    plot,
    ticks(from, to),
  );
}

/** A bar of parts, {value, color, name, hatch?}; its words stand beside it. `tick`: a target. */
export function bar(parts, total, { label, tick, height = 8 } = {}) {
  const width = (value) => `${Math.min(100, (100 * value) / (total || 1))}%`;
  const text = label ?? parts.map((it) => `${it.name} ${count(it.value)}`).join(', ');
  return h(
    'span.bar',
    { role: 'img', 'aria-label': text, style: { height: `${height}px` } },
    parts
      .filter((it) => it.value > 0)
      .map((it) =>
        h('i', {
          class: it.hatch ? 'hatch' : null,
          style: { width: width(it.value), '--c': it.color },
        }),
      ),
    isKnown(tick) && h('em', { style: { left: width(tick) } }),
  );
}

/** What runs and what waits, as one bar. */
export const twin = (running, queued, max, label) =>
  bar(
    [
      { value: running, color: 'var(--run)', name: 'running' },
      { value: queued, color: 'var(--wait)', name: 'waiting', hatch: true },
    ],
    max,
    { label },
  );
