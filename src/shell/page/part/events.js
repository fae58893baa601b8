// Events of the log of decisions, throttles and commands, as rows.

import { h } from './dom.js';
import { moment } from './format.js';
import { linkTo, queueLink, whyLink, words } from './words.js';

const QUEUES_SHOWN = 3;

/** What became of a request or an owner, and its shape: colour is never the only sign. */
const MARKS = {
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

/** The reasons of an event: of a decision those of the very one, not of a newer answer. */
function subject(it) {
  return it.kind === 'decision'
    ? whyLink(it.subject, { kind: 'task', id: it.id })
    : whyLink(it.subject);
}

/** Columns, for a table of events. Those of kind `drop` are left out on a narrow screen. */
export const COLUMNS = [
  { name: 'time (UTC)', kind: 'c2', cell: (it) => moment(it.at) },
  {
    name: 'what',
    kind: 'c1',
    cell: (it) =>
      badge(
        it.what,
        `${it.kind === 'decision' ? '' : `${it.kind} `}${it.what}` +
          `${it.dry_run ? ' (dry run)' : ''}`,
      ),
  },
  { name: 'about', cell: subject },
  { name: 'what it says', cell: (it) => it.text },
  { kind: 'drop', cell: (it) => queues(it.queues ?? []) },
  { name: 'policy or rule', kind: 'drop', cell: (it) => it.rule },
  {
    name: 'share, user',
    kind: 'drop',
    cell: (it) => [
      linkTo('share', it.gshare),
      it.user && h('span.sub', {}, linkTo('user', it.user)),
    ],
  },
];

function queues(names) {
  const links = names
    .slice(0, QUEUES_SHOWN)
    .flatMap((name, at) => [at ? ', ' : '', queueLink(name)]);
  const more = names.length - QUEUES_SHOWN;
  return [...links, more > 0 && h('span', { title: names.join(', ') }, ` and ${more} more`)];
}

/** The head of a table of events. */
export function head() {
  const places = `${words().place}s`;
  const cells = COLUMNS.map((it) =>
    h('th', { scope: 'col', class: it.kind ?? null }, it.name ?? places),
  );
  return h('thead', {}, h('tr', {}, cells));
}

/** One event as a row. */
export function row(event) {
  const cells = COLUMNS.map((it) => h('td', { class: it.kind ?? null }, it.cell(event)));
  return h('tr', { 'data-sequence': String(event.sequence) }, cells);
}

/** Events as a table. */
export function eventTable(events, label) {
  return h(
    'div.scroll',
    { role: 'group', 'aria-label': label, tabindex: '0' },
    h('table.events.cards', {}, head(), h('tbody', {}, events.map(row))),
  );
}
