// The story of a place: what refuses it, what was sent there, who fills it, what was commanded.

import { card, empty, part, rows, swatch, terms } from './card.js';
import { bar, twin } from './chart.js';
import { filterTitle } from './cutflow.js';
import { h, icon, query } from './dom.js';
import { count, figure, moment, plural, span, when } from './format.js';
import { capital } from './waits.js';
import { isPool, linkTo, whyLink } from './words.js';

const MINUTE = 60000;
const DAY = 1440 * MINUTE;
const isKnown = (value) => value !== null && value !== undefined;

/** `1,800 to 5,781`; where both are the same, one of them. */
function range(from, to) {
  if (!isKnown(from)) return '';
  return isKnown(to) && to !== from ? `${figure(from)} to ${figure(to)}` : figure(from);
}

/** Cards of a page about a place: what happened to it, and beside that who has its jobs. */
export const story = (view) => [refuses(view), sent(view), waits(view)];
export const beside = (view) => [
  filled(view, 'Shares here', 'shares', 'share'),
  filled(view, 'Users here', 'users', 'user'),
  commands(view),
  published(view),
];

function refuses(view) {
  const title = 'What refuses it';
  const of = view.more?.rejecting_of;
  return card(
    {
      title,
      sub: of
        ? `in the newest ${plural(of, 'decision')} that list it`
        : 'filters that kept requests away',
    },
    part(view, 'explain', 'what refuses it', () => {
      const list = view.more?.rejecting ?? [];
      if (!list.length)
        return empty('No filter refuses it', 'No decision that is kept lists a rejection of it.');
      const most = Math.max(...list.map((it) => it.requests ?? it.decisions), 1);
      const table = rows({
        label: title,
        rows: list,
        keyOf: (it) => it.filter,
        columns: refusing(view, most),
      });
      return [table, near(view.more)];
    }),
  );
}

/** The objection that came nearest to passing, and how often it passed and got nothing. */
function near({ nearest, passed_over: over }) {
  if (!nearest && !over) return null;
  return h(
    'p.legend.say',
    {},
    nearest &&
      h('span', {}, 'Nearest to passing: ', whyLink(nearest.subject), `, ${nearest.text}.`),
    over > 0 &&
      h('span', {}, `In ${plural(over, 'decision')} it passed all filters and got no jobs.`),
  );
}

function refusing(view, most) {
  const found = (it) => {
    const measured = range(it.measured_from, it.measured_to);
    const limit = range(it.limit_from, it.limit_to);
    return measured
      ? `${measured} ${it.unit ?? ''}`.trim() + (limit ? `, limit ${limit}` : '')
      : '';
  };
  return [
    {
      name: 'Filter',
      kind: 'c1',
      cell: (it) => [
        h('b', {}, filterTitle(it)),
        h('span.sub', {}, [it.filter, it.spec].filter(Boolean).join(', ')),
      ],
    },
    {
      name: 'What it found here',
      cell: (it) =>
        h(
          'div.why-say',
          {},
          capital(it.text || found(it) || it.help),
          h(
            'span.sub',
            {},
            it.text && found(it) ? `${found(it)}; ` : '',
            it.variant && it.variant !== view.name ? `as ${it.variant}; ` : '',
            it.example && ['last ', whyLink(it.example)],
          ),
        ),
    },
    {
      name: isPool() ? 'Jobs' : 'Requests',
      kind: 'slim',
      cell: (it) => [
        h(
          'span.line',
          {},
          h('b', {}, count(it.requests ?? it.decisions)),
          it.requests === undefined && h('span.soft', {}, ' decisions'),
        ),
        bar(
          [
            {
              value: it.requests ?? it.decisions,
              color: 'var(--cut)',
              name: 'requests',
              hatch: true,
            },
          ],
          most,
          { height: 6 },
        ),
      ],
    },
    {
      name: 'Last',
      number: true,
      kind: 'c2',
      cell: (it) => (it.last_at ? moment(it.last_at, view.now) : ''),
    },
  ];
}

/** Since when what was sent there is counted: a day, or what was read of it. */
export function sentSince({ more, now }) {
  const since = more?.sent_since;
  return since > now - DAY + MINUTE ? `since ${when(since, now)}` : 'in 24 h';
}

function sent(view) {
  const list = view.more?.accepted;
  if (!list) return null;
  const day = view.more.accepted_24h;
  return card(
    {
      title: 'What was sent there',
      sub:
        day &&
        `${plural(day.jobs, 'job')} of ${plural(day.requests, isPool() ? 'offer' : 'request')} ${sentSince(view)}`,
    },
    list.length
      ? h(
          'ul.acts',
          {},
          list
            .slice(0, 8)
            .map((it) =>
              h(
                'li',
                { 'data-key': `${it.subject} ${it.at}` },
                h('span.at', {}, moment(it.at, view.now)),
                icon('go'),
                h(
                  'div.body',
                  {},
                  it.task ? linkTo('task', it.task, it.subject) : whyLink(it.subject),
                  `: ${plural(it.jobs, 'job')}`,
                  it.share && ` of ${it.share}`,
                  it.user && [', for ', linkTo('user', it.user)],
                ),
              ),
            ),
        )
      : empty('Nothing was sent there', 'What refuses it stands above.'),
  );
}

function waits(view) {
  const list = view.data.waiting?.requests ?? [];
  if (!list.length) return null;
  return card(
    {
      title: 'What waits, and not here',
      sub: 'open requests that it refuses',
      more: ['all', `#waiting${query({ queue: view.name })}`],
    },
    h(
      'ul.acts',
      {},
      list
        .slice(0, 6)
        .map((it) =>
          h(
            'li',
            { 'data-key': it.subject },
            h('span.at', {}, span(view.now - it.asked_at)),
            icon('waiting'),
            h(
              'div.body',
              {},
              it.task ? linkTo('task', it.task, it.subject) : whyLink(it.subject),
              `: ${plural(it.jobs, 'job')}, ${it.nearest?.text ?? it.reason}`,
            ),
          ),
        ),
    ),
  );
}

/** Of whom the jobs there are. At a site of a pool none wait: what is idle is at no site. */
function filled(view, title, key, kind) {
  const list = view.more?.filled_by?.[key]?.filter((it) => it.name);
  if (!list?.length) return null;
  const max = Math.max(...list.map((it) => it.running + it.queued), 1);
  return card(
    { title },
    h(
      'ul.bars',
      {},
      list
        .slice(0, 8)
        .map((it) =>
          h(
            'li',
            { 'data-key': it.name },
            h(
              'span.line',
              {},
              linkTo(kind, it.name),
              h(
                'span.r',
                {},
                h('b', {}, count(it.running)),
                isPool() ? ' run' : ` run · ${count(it.queued)} wait`,
              ),
            ),
            twin(it.running, it.queued, max),
          ),
        ),
    ),
    h(
      'p.legend',
      {},
      swatch('running', 'var(--run)'),
      !isPool() && swatch('queued', 'var(--wait)', true),
    ),
  );
}

function commands(view) {
  const list = view.more?.commands ?? view.data.explain?.commands;
  if (!list) return null;
  return card(
    {
      title: 'Commands here',
      more: [
        'all',
        `#decisions${query({ kind: 'command', queue: view.rows[0]?.queue ?? view.name })}`,
      ],
    },
    list.length
      ? h(
          'ul.acts.narrow',
          {},
          list
            .slice(0, 6)
            .map((it) =>
              h(
                'li',
                {},
                h('span.at', {}, moment(it.at, view.now)),
                h('div.body', {}, it.text ?? [it.rule, `: ${plural(it.jobs, 'job')}`]),
              ),
            ),
        )
      : empty('None', 'No rule acted on jobs here, and none was held back.'),
  );
}

function published(view) {
  const list = view.more?.facts;
  if (!list?.length) return null;
  const shown = list.map((it) =>
    typeof it === 'string' ? ['', it] : [it.name ?? it.field, it.value ?? it.text],
  );
  return card(
    { title: 'What is published about it' },
    terms(shown.map(([name, value]) => [name, typeof value === 'number' ? figure(value) : value])),
  );
}
