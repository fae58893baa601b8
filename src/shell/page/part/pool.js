// What a pool of slots has on Now: idle jobs by reason, classes, drained nodes, users, workflows.

import { barLine, card, empty, part, rows, usersCard } from './card.js';
import { bar } from './chart.js';
import { h, icon } from './dom.js';
import { ago, count, figure, plural, span } from './format.js';
import { hrefOf, linkTo } from './words.js';

/** So many of a list are shown here. */
const LISTED = 5;
const LISTED_WORKFLOWS = 10;

/** Cards for the side, and the workflows, of a view that asks /pool; `shares`: that of the classes. */
export const poolSide = (view, shares) => [idle(view), shares, drains(view), users(view)];

/** Jobs of a pool, or of a user, that wait for no offer, if there are any, as a list of one. */
export const onHold = (it) => (it.on_hold ? [`${count(it.on_hold)} on hold`] : []);

/** How old live offers are: `1 s to 7 min old`. */
export const ages = ({ newest_at: newest, oldest_at: oldest }, now) =>
  newest && oldest ? `${span(now - newest)} to ${span(now - oldest)} old` : '';

function idle(view) {
  const pool = view.data.pool;
  return card(
    {
      title: pool ? `Why ${count(pool.idle)} jobs are idle` : 'Why jobs are idle',
      key: 'idle',
      sub: ['by what the offers lack', ...(pool ? onHold(pool) : [])].join('; '),
    },
    part(view, 'pool', 'why jobs are idle', ({ idle_by_reason: list }) => {
      if (!list.length) return empty('No job is idle', 'Every job has its slots.');
      const max = Math.max(...list.map((it) => it.jobs));
      return h(
        'ul.bars',
        {},
        list.slice(0, 10).map((it) =>
          barLine({
            key: it.filter,
            name: it.title,
            right: h('b', {}, count(it.jobs)),
            bar: bar([{ value: it.jobs, color: 'var(--wait)', name: 'jobs', hatch: true }], max, {
              height: 6,
            }),
            below: it.help,
          }),
        ),
      );
    }),
  );
}

function drains(view) {
  const { drains: list = [], drains_open: open = list.length } = view.data.pool ?? {};
  return card(
    { title: 'Drained nodes', sub: open ? count(open) : null },
    list.length
      ? h(
          'ul.bars',
          {},
          list.slice(0, LISTED).map((it) =>
            barLine({
              key: it.node,
              name: it.node,
              right: it.until > view.now ? `free in ${span(it.until - view.now)}` : 'free now',
              below: [
                `for ${it.job}, ${plural(it.cores, 'core')}`,
                it.site && `, ${it.site}`,
                `, since ${span(view.now - it.since)}`,
              ],
            }),
          ),
        )
      : empty(
          'No node is drained',
          'A node that is emptied for a large job is listed here, with until when.',
        ),
  );
}

const users = ({ data: { pool } }) =>
  usersCard(
    'Users by share',
    (pool?.users ?? []).map((it) => ({
      ...it,
      queued: it.idle,
      beside: [it.group, `share ${figure(it.share)}`, ...onHold(it)].filter(Boolean).join(', '),
    })),
    'in cores by power',
  );

export function workflows(view) {
  return card(
    {
      title: 'Workflows with the most idle jobs',
      sub: view.data.pool && `of ${count(view.data.pool.workflows_open)} open`,
      more: ['all', '#waiting'],
    },
    part(view, 'pool', 'the workflows', ({ workflows: list }) => {
      if (!list.length)
        return empty('No workflow is open', 'A workflow with jobs that wait is listed here.');
      const shown = list.slice(0, LISTED_WORKFLOWS);
      return rows({
        label: 'Workflows',
        rows: shown,
        keyOf: (it) => it.workflow,
        columns: workflowColumns(view, shown),
      });
    }),
  );
}

function workflowColumns(view, list) {
  const held = {
    name: 'On hold',
    number: true,
    short: 'on hold',
    cell: (it) => count(it.on_hold),
  };
  const sub = (it) =>
    [it.class, it.user || 'central', it.priority ? `priority ${count(it.priority)}` : '']
      .filter(Boolean)
      .join(', ');
  return [
    {
      name: 'Workflow',
      kind: 'c1',
      cell: (it) => [
        h('a', { href: hrefOf('workflow', it.workflow) }, h('b', {}, it.workflow)),
        h('span.sub', {}, sub(it)),
      ],
    },
    {
      name: 'Got slots or removed',
      kind: 'wide',
      cell: (it) => [
        h('span.line', {}, it.total ? `${count(it.given)} of ${count(it.total)}` : count(it.given)),
        it.total > 0 &&
          bar([{ value: it.given, color: 'var(--run)', name: 'got slots' }], it.total, {
            height: 6,
          }),
      ],
    },
    { name: 'Idle', number: true, kind: 'c2', cell: (it) => h('b', {}, count(it.idle)) },
    ...(list.some((it) => it.on_hold) ? [held] : []),
    { name: 'Running', number: true, short: 'running', cell: (it) => count(it.running) },
    { name: 'Finished', number: true, short: 'finished', cell: (it) => count(it.finished) },
    {
      name: 'Failed or removed',
      number: true,
      short: 'failed or removed',
      cell: (it) => count(it.failed),
    },
    {
      name: 'Last slot',
      number: true,
      short: 'last slot',
      cell: (it) => [
        it.last_match_at
          ? ago(it.last_match_at, view.now)
          : it.given
            ? 'not known'
            : h('span.sev-watch', {}, icon('watch'), ' none yet'),
        it.injected_at && h('span.sub', {}, `age ${span(view.now - it.injected_at)}`),
      ],
    },
  ];
}
