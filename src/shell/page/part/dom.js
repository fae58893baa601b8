// Elements from data, and how numbers and times are shown. Whatever comes from the API becomes
// text, never markup.

/** An element: `h('a.name', {href}, 'text', child)`. Children null or false are skipped. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style')
      Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (key in element && typeof value !== 'string') element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child);
  }
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** Sets a text where it is another one. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** A count: `12,345`. */
export function count(value) {
  if (value === null || value === undefined) return '';
  return value > -1000 && value < 1000 && Number.isInteger(value)
    ? String(value)
    : whole.format(value);
}

/** A figure of which nothing is known: few digits, but no more than matter. */
export function figure(value) {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(3);
  return size >= 1000 ? whole.format(value) : String(Number(value.toPrecision(4)));
}

/** A moment in UTC: `2026-11-24 10:12:03`. */
export function utc(ms) {
  if (ms === null || ms === undefined) return '';
  const date = new Date(ms);
  return Number.isNaN(date.getTime())
    ? `${ms} ms since 1970`
    : date.toISOString().slice(0, 19).replace('T', ' ');
}

/** A moment as an element that machines can read. */
export function moment(ms) {
  const text = utc(ms);
  return h('time', { datetime: `${text.replace(' ', 'T')}Z`, title: `${text} UTC` }, text);
}

/** A duration: `0.4 s`, `12 min`, `3.5 h`, `403 d`. */
export function span(ms) {
  const s = Math.abs(ms) / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${(s / 3600).toFixed(1)} h`;
  return `${Math.round(s / 86400)} d`;
}

/** The fragment that shows why something is as it is. */
export function why(name, params = {}) {
  return `#why/${encodeURIComponent(name)}${query(params)}`;
}

/** `?a=b&c=d` of what is not empty. */
export function query(params) {
  const given = Object.entries(params).filter(
    ([, value]) => value !== '' && value !== null && value !== undefined,
  );
  return given.length ? `?${new URLSearchParams(given)}` : '';
}

/** A link to the reasons of something; nothing if it has no name. */
export function whyLink(name, params) {
  return name ? h('a', { href: why(name, params) }, name) : null;
}

/** A link to a queue. A candidate may be `QUEUE/TYPE`; its reasons are those of the queue. */
export function queueLink(name) {
  return name ? h('a', { href: why(name.split('/')[0], { kind: 'queue' }) }, name) : null;
}

/** Statuses of a queue, and the shape of each: colour is never the only sign. */
export const SHAPES = {
  online: '●',
  standby: '○',
  test: '▲',
  brokeroff: '◆',
  paused: '‖',
  offline: '✕',
  '': '?',
};

/** What became of a request or an owner, and its shape. */
export const MARKS = {
  assign: '●',
  assigned: '●',
  defer: '◆',
  pending: '◆',
  reject: '✕',
  rejected: '✕',
  set: '▼',
  throttled: '▼',
  lift: '△',
  known: '·',
  not_judged: '○',
};

/** A badge with shape and text. */
export function badge(what, text = what.replaceAll('_', ' ')) {
  return h(
    'span.badge',
    { 'data-what': what },
    h('span', { 'aria-hidden': 'true' }, MARKS[what] ?? '■'),
    ` ${text}`,
  );
}
