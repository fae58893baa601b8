// Usage: which shares, users and groups use more than is due to them, over all places.

import { bar, twin } from '../part/chart.js';
import { card, empty, lead, part, rows, swatch, tickmark } from '../part/card.js';
import { h, icon } from '../part/dom.js';
import { count, percent } from '../part/format.js';
import { Live } from '../part/live.js';
import { isPool, linkTo, words } from '../part/words.js';

/** A share that is so far off its target is named; part of all. */
const FAR = 0.05;
/** So many users and groups are listed. */
const MOST = 50;

export class Usage extends Live {
  constructor(main, place) {
    super(main, place, {
      usage: { path: 'usage', every: 5000 },
      // An older process knows the shares only.
      shares: { path: 'shares', every: 5000, when: () => this.errors.usage },
    });
  }

  draw() {
    const answer = this.data.usage ?? (this.data.shares && { ...this.data.shares, users: null });
    const shares = answer?.shares ?? [];
    const above = shares.filter((it) => it.use - it.target >= FAR);
    const name = isPool() ? 'class' : 'share';
    const says = above.length
      ? [
          h(
            'b',
            {},
            `${above.map((it) => it.gshare).join(', ')} ${above.length === 1 ? 'uses' : 'use'} more than is due. `,
          ),
        ]
      : shares.length
        ? `No ${name} is 5 points above its target.`
        : '';
    return [
      lead({ title: 'Usage', says }),
      answer ? this.shares(shares) : part(this, 'usage', 'who uses how much', () => null),
      answer?.users && this.owners('Users', answer.users, 'user'),
      answer?.groups?.length > 0 && this.owners('Groups', answer.groups, 'group'),
    ];
  }

  shares(list) {
    const title = isPool() ? 'Classes against their quotas' : 'Shares against targets';
    if (!list.length)
      return isPool() || !words().wholes
        ? card({ title }, empty('No share is known', 'No record of topic share was read.'))
        : null;
    const max = Math.max(...list.flatMap((it) => [it.use, it.target]), 0.01) * 1.05;
    const sorted = list.slice().sort((a, b) => b.use - b.target - (a.use - a.target));
    const off = (it) => 100 * (it.use - it.target);
    return card(
      { title, sub: 'most above its target first' },
      rows({
        label: title,
        rows: sorted,
        keyOf: (it) => it.gshare,
        columns: [
          {
            name: isPool() ? 'Class' : 'Share',
            kind: 'c1',
            cell: (it) => (isPool() ? it.gshare : linkTo('share', it.gshare)),
          },
          {
            name: 'Use against target',
            kind: 'wide',
            cell: (it) =>
              h(
                'span.line-bar',
                {},
                bar([{ value: it.use, color: 'var(--run)', name: 'use' }], max, {
                  tick: it.target,
                  label: `uses ${percent(it.use)}, target ${percent(it.target)}`,
                }),
              ),
          },
          { name: 'Use', number: true, kind: 'c2', cell: (it) => h('b', {}, percent(it.use)) },
          { name: 'Target', number: true, short: 'target', cell: (it) => percent(it.target) },
          {
            name: 'Off',
            number: true,
            cell: (it) =>
              Math.abs(off(it)) >= 100 * FAR
                ? h('span.sev-watch', {}, icon('watch'), ` ${signed(off(it))} points`)
                : `${signed(off(it))} points`,
          },
          {
            name: 'Running',
            number: true,
            short: 'running',
            cell: (it) => (it.running === undefined ? '–' : count(it.running)),
          },
          {
            name: 'Queued',
            number: true,
            short: 'queued',
            cell: (it) => (it.queued === undefined ? '–' : count(it.queued)),
          },
        ],
      }),
      h('p.legend', {}, swatch('use', 'var(--run)'), tickmark('target')),
    );
  }

  owners(title, list, kind) {
    const max = Math.max(...list.map((it) => it.running_cores + it.queued_cores), 1);
    return card(
      {
        title,
        sub:
          list.length > MOST
            ? `the ${MOST} with most of ${count(list.length)}`
            : count(list.length),
      },
      list.length
        ? rows({
            label: title,
            rows: list.slice(0, MOST),
            keyOf: (it) => it.user ?? it.group,
            columns: [
              {
                name: title.slice(0, -1),
                kind: 'c1',
                cell: (it) => [
                  linkTo(kind, it.user ?? it.group),
                  it.throttled &&
                    h('span.sub.sev-watch', {}, icon('throttles'), ` throttled by ${it.throttled}`),
                ],
              },
              {
                name: `${words().cores[0].toUpperCase()}${words().cores.slice(1)} that run and wait`,
                kind: 'wide',
                cell: (it) =>
                  twin(
                    it.running_cores,
                    it.queued_cores,
                    max,
                    `${it.running_cores} running, ${it.queued_cores} waiting`,
                  ),
              },
              {
                name: 'Part',
                number: true,
                kind: 'c2',
                cell: (it) => h('b', {}, percent(it.part)),
              },
              { name: 'Running', number: true, short: 'running', cell: (it) => count(it.running) },
              { name: 'Queued', number: true, short: 'queued', cell: (it) => count(it.queued) },
            ],
          })
        : empty('Nobody has jobs', 'Users are listed once their jobs run or wait.'),
    );
  }
}

const signed = (points) => `${points > 0 ? '+' : '−'}${Math.abs(points).toFixed(1)}`;
