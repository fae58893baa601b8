// Events of the log of decisions, throttles and commands, as rows.

import { badge, h, moment, queueLink, whyLink } from './dom.js';

const QUEUES_SHOWN = 3;

/** The reasons of an event: of a decision those of the very one, not of a newer answer. */
function subject(it) {
  return it.kind === 'decision'
    ? whyLink(it.subject, { kind: 'task', id: it.id })
    : whyLink(it.subject);
}

/** Columns, for a table of events. Those that are `wide` are left out on a narrow screen. */
export const COLUMNS = [
  { name: 'time (UTC)', cell: (it) => moment(it.at) },
  {
    name: 'what',
    cell: (it) =>
      badge(
        it.what,
        `${it.kind === 'decision' ? '' : `${it.kind} `}${it.what}` +
          `${it.dry_run ? ' (dry run)' : ''}`,
      ),
  },
  { name: 'about', cell: subject },
  { name: 'what it says', cell: (it) => it.text },
  { name: 'queues', wide: true, cell: (it) => queues(it.queues ?? []) },
  { name: 'policy or rule', wide: true, cell: (it) => it.rule },
  { name: 'share', wide: true, cell: (it) => whyLink(it.gshare, { kind: 'share' }) },
  { name: 'user', wide: true, cell: (it) => whyLink(it.user, { kind: 'user' }) },
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
  const cells = COLUMNS.map((it) => h(it.wide ? 'th.wide' : 'th', { scope: 'col' }, it.name));
  return h('thead', {}, h('tr', {}, cells));
}

/** One event as a row. */
export function row(event) {
  const cells = COLUMNS.map((it) => h(it.wide ? 'td.wide' : 'td', {}, it.cell(event)));
  return h('tr', { 'data-sequence': String(event.sequence) }, cells);
}

/** Events as a table. */
export function eventTable(events, label) {
  return h(
    'div.sheet',
    { role: 'region', 'aria-label': label, tabindex: '0' },
    h('table.events', {}, head(), h('tbody', {}, events.map(row))),
  );
}
