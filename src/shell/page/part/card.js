// Parts that several views share: cards, what needs a person, key figures, lists of bars, tables.

import { bar, spark, twin } from './chart.js';
import { h, icon } from './dom.js';
import { count, percent, plain, plural, span, when } from './format.js';
import { hrefOf, linkTo, statusShape, words } from './words.js';

/** Severities in their order, and how each is read out. */
export const SEVERITIES = { act: 'act now', watch: 'watch', note: 'good to know' };
const RANKS = Object.keys(SEVERITIES);
/** So many things of one rule are shown before the others. */
const OF_ONE_RULE = 3;
export const rankOf = (severity) => {
  const rank = RANKS.indexOf(severity);
  return rank < 0 ? RANKS.length : rank;
};

/** A card: {title, sub?, more?: [text, href]} and what is in it. */
export function card({ title, sub, more, label, key, kind = '' }, ...children) {
  return h(
    `section.card${kind}`,
    { 'aria-label': label ?? title, 'data-key': key ?? title },
    title &&
      h(
        'header',
        {},
        h('h2', {}, title),
        sub && h('p', {}, sub),
        more && h('a.more', { href: more[1] }, more[0]),
      ),
    ...children,
  );
}

/** Why there is nothing, in place of it: what is good about it, and what would appear. */
export const empty = (title, ...says) => h('p.empty', {}, h('b', {}, title), ...says);

/** A part that the process could not answer: what, then remedy. */
export function missing(error, what) {
  const isOlder = error.status === 404 && error.message.includes('nothing of that name');
  return h(
    'p.empty',
    { role: 'status' },
    h('b', {}, `Not shown: ${what}`),
    isOlder
      ? 'This process is of an older version, which does not answer that.'
      : `${error.message}${error.remedy ? `; ${error.remedy}` : ''}.`,
  );
}

/** An answer's part: what it draws once the answer is there, or why it is not. */
export function part({ data, errors }, name, what, draw) {
  if (data[name]) return draw(data[name]);
  if (errors[name]) return missing(errors[name], what);
  return h('p.empty', { role: 'status' }, 'Being asked for.');
}

export const severity = (it, label = SEVERITIES[it]) => h(`span.sev-${it}`, {}, icon(it, label));

export const status = (name) =>
  h(`span.status.is-${statusShape(name)}`, {}, icon(statusShape(name)), name || 'no fact');

export const pill = (kind, ...children) => h(`span.pill.${kind}`, {}, ...children);

/** Where a trouble is looked at: what was rejected is among the decisions, all else has a page. */
function hrefOfTrouble({ rule, kind, name }) {
  if (rule === 'rejected') return '#decisions?kind=decision&what=reject';
  return hrefOf(kind, name);
}

/** Since when: of what is wrong with the process by the clock of its host, which may be another. */
function since({ kind, since: at }, now) {
  const clock = kind === 'process' || kind === 'topic' ? Date.now() : now;
  return [span(clock - at), h('small', {}, ` since ${when(at, clock)}`)];
}

/** The first ones; of a rule that has many only some, so that the others are seen too. */
function firstOf(items, most) {
  const seen = new Map();
  const isFirst = ({ severity: it, rule }) => {
    seen.set(rule, (seen.get(rule) ?? 0) + 1);
    return it === 'act' || seen.get(rule) <= OF_ONE_RULE;
  };
  return items.filter(isFirst).slice(0, most);
}

/** What needs a person, worst first; the rest folds with its titles. */
export function attention(items, now, most = 7) {
  const count_ = (it) => items.filter((one) => one.severity === it).length;
  const tally = RANKS.filter(count_).map((it) =>
    h(`span.sev-${it}`, {}, icon(it), `${count_(it)} ${SEVERITIES[it]}`),
  );
  const row = (it) =>
    h(
      `li.${it.severity}`,
      { 'data-key': `${it.rule} ${it.kind} ${it.name}` },
      h(
        'a.row',
        { href: hrefOfTrouble(it) },
        severity(it.severity),
        h('span.what', {}, h('b', {}, it.title), ' ', h('span', {}, plain(it.text, now))),
        h('span.since', {}, it.since ? since(it, now) : null),
        h('span.go', {}, icon('go')),
      ),
    );
  const shown = firstOf(items, most);
  const rest = items.filter((it) => !shown.includes(it));
  const titles = rest
    .slice(0, 3)
    .map((it) => it.title)
    .join(', ');
  return h(
    'section.card.attention',
    { 'aria-labelledby': 'attention', 'data-key': 'attention' },
    h('header', {}, h('h2', { id: 'attention' }, 'Needs a person'), h('span.tally', {}, tally)),
    items.length
      ? h('ol', {}, shown.map(row))
      : h(
          'p.none',
          {},
          severity('fine', 'fine'),
          h(
            'span',
            {},
            h('b', {}, 'Nothing needs a person. '),
            'Inputs are fresh, places with work start jobs, shares are near their targets.',
          ),
        ),
    rest.length > 0 &&
      h(
        'details.rest',
        {},
        h('summary', {}, `${rest.length} more: ${titles}${rest.length > 3 ? ' …' : ''}`),
        h('ol', {}, rest.map(row)),
      ),
  );
}

/** Key figures: {label, value, unit?, sub?, href?, values?, color?}; `values` are their last day. */
export function figures(list) {
  return h(
    'section.card',
    { 'aria-label': 'Key figures', 'data-key': 'figures' },
    h(
      'div.figures',
      {},
      list
        .filter(Boolean)
        .map((it) =>
          h(
            it.href ? 'a' : 'div',
            { href: it.href, 'data-key': it.label },
            h('span.label', {}, it.label),
            h('span.value', {}, it.value, it.unit && h('small', {}, it.unit)),
            h('span.sub', { title: it.sub }, it.sub || ' '),
            it.values?.length > 1 &&
              spark(it.values, { color: it.color, label: it.label, height: 32 }),
          ),
        ),
    ),
  );
}

/** Facts of one thing: [name, value, second line]. */
export function facts(list, label = 'Key figures') {
  return h(
    'section.card',
    { 'aria-label': label, 'data-key': label },
    h(
      'dl.steps',
      {},
      list
        .filter(Boolean)
        .map(([name, value, sub]) =>
          h('div', {}, h('dt', {}, name), h('dd', {}, value, h('small', {}, sub ?? ''))),
        ),
    ),
  );
}

/** Terms and their values; those without a value are left out. */
export function terms(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h(
    'dl.facts',
    {},
    shown.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

/** One line of a list of bars: name, figures to its right, a bar, a second line. */
export function barLine({ name, key, right, bar: picture, below }) {
  return h(
    'li',
    { 'data-key': key },
    h('span.line', {}, h('span', {}, name), h('span.r', {}, right)),
    picture,
    below && h('span.tiny.soft', {}, below),
  );
}

export const swatch = (name, color, hatch) =>
  h('span.key', {}, h(`i.swatch${hatch ? '.hatch' : ''}`, { style: { '--c': color } }), name);
export const tickmark = (name) => h('span.key', {}, h('i.tickmark'), name);

/** Shares against their targets, as bars. */
export function sharesCard(
  list,
  { title = 'Shares against targets', sub = 'part of what runs' } = {},
) {
  if (!list.length)
    return card(
      { title },
      empty(
        'No share is known',
        'No record of topic share was read; ',
        h('code', {}, 'yardmaster import shares'),
        ' brings them.',
      ),
    );
  const max = Math.max(...list.flatMap((it) => [it.use, it.target]), 0.01) * 1.05;
  const line = (it) => {
    const off = it.use - it.target;
    const text = `${it.gshare} uses ${percent(it.use)}, target ${percent(it.target)}`;
    return h(
      'li',
      { 'data-key': it.gshare },
      h(
        'span.line',
        {},
        linkTo('share', it.gshare),
        h('span.r', {}, h('b', {}, percent(it.use)), ` of ${percent(it.target)}`),
      ),
      bar([{ value: it.use, color: 'var(--run)', name: 'use' }], max, {
        tick: it.target,
        label: text,
      }),
      Math.abs(off) >= 0.05 &&
        h(
          'span.tiny.sev-watch',
          {},
          icon('watch'),
          ` ${(100 * Math.abs(off)).toFixed(1)} points ${off > 0 ? 'above' : 'below'}`,
        ),
    );
  };
  return card(
    { title, sub },
    h('ul.bars', {}, list.map(line)),
    h('p.legend', {}, swatch('use', 'var(--run)'), tickmark('target')),
  );
}

/** Users by what they have, {user, running, queued, beside?}; none of them, no card. */
export function usersCard(title, list, sub) {
  if (!list.length) return null;
  const max = Math.max(...list.map((it) => it.running + it.queued), 1);
  return card(
    { title, sub, more: ['all', '#usage'] },
    h(
      'ul.bars',
      {},
      list.slice(0, 8).map((it) =>
        barLine({
          key: it.user,
          name: [linkTo('user', it.user), ' ', h('span.soft', {}, it.beside)],
          right: [h('b', {}, count(it.running)), ` run · ${count(it.queued)} ${words().waits}`],
          bar: twin(it.running, it.queued, max),
        }),
      ),
    ),
  );
}

/**
 * A table whose rows become cards on a phone. A column is {name, number?, kind?, cell(row)}: the
 * one of kind `c1` is the row's head, `c2` stands right of it, `drop` is left out on a phone.
 */
export function rows({ label, columns, rows: list, keyOf }) {
  const cell = (row) => (column) => {
    const isHead = column.kind === 'c1';
    const classes = [column.kind, column.number && 'num'].filter(Boolean).join(' ');
    return h(
      isHead ? 'th' : 'td',
      { class: classes || null, scope: isHead ? 'row' : null, 'data-l': column.short ?? null },
      column.cell(row),
    );
  };
  return h(
    'div.scroll',
    { role: 'group', 'aria-label': label, tabindex: '0' },
    h(
      'table.cards',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map((it) => h('th', { scope: 'col', class: it.number ? 'num' : null }, it.name)),
        ),
      ),
      h(
        'tbody',
        {},
        list.map((row) => h('tr', { 'data-key': keyOf?.(row) }, columns.map(cell(row)))),
      ),
    ),
  );
}

/** The head of a view: where it is, its name, marks, and a sentence. */
export function lead({ title, crumbs = [], marks = [], says }) {
  const path = crumbs.filter(Boolean);
  return h(
    'div.lead',
    { 'data-key': 'lead' },
    path.length > 0 &&
      h(
        'p.crumb',
        {},
        path.map((it, at) => [
          at > 0 && h('span', { 'aria-hidden': 'true' }, '/'),
          h('span', {}, it),
        ]),
      ),
    h('div.chips', {}, h('h1', {}, title), ...marks),
    says && h('p', {}, says),
  );
}

/** `3 things need a person`, as a sentence's begin. */
export function needs(items) {
  const acts = items.filter((it) => it.severity === 'act').length;
  if (!acts)
    return h('b', {}, items.length ? 'Nothing must be done at once. ' : 'Nothing needs a person. ');
  return h('b', {}, `${plural(acts, 'thing')} ${acts === 1 ? 'needs' : 'need'} a person. `);
}
