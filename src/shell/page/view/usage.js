// Usage: which shares, users and groups use more than is due to them, over all places.

import { bar, twin } from '../part/chart.js';
import { card, empty, lead, part, rows, swatch, tickmark } from '../part/card.js';
import { h, icon } from '../part/dom.js';
import { count, percent } from '../part/format.js';
import { Live } from '../part/live.js';
import { capital } from '../part/waits.js';
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
    const below = shares.filter((it) => it.target - it.use >= FAR);
    const name = isPool() ? 'class' : 'share';
    const say = (list, verb) => {
      const some = list.map((it) => it.gshare).join(', ');
      return list.length > 0 && h('b', {}, `${some} ${verb}${list.length === 1 ? 's' : ''} `);
    };
    const says =
      above.length || below.length
        ? [
            above.length > 0 && [say(above, 'use'), 'more than is due. '],
            below.length > 0 && [say(below, 'get'), 'less than is due.'],
          ]
        : shares.length
          ? `No ${name} is 5 points off its target.`
          : answer?.users?.length && mostOf(answer.users[0]);
    return [
      lead({ title: 'Usage', says }),
      answer ? this.shares(shares) : part(this, 'usage', 'who uses how much', () => null),
      answer?.users && this.owners('Users', answer.users, 'user', answer.users_in_all),
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
            short: 'off',
            cell: (it) =>
              Math.abs(off(it)) >= 100 * FAR
                ? h('span.sev-watch', {}, icon('watch'), ` ${signed(off(it))} points`)
                : `${signed(off(it))} points`,
          },
          {
            name: 'Running',
            number: true,
            short: 'running',
            cell: (it) => count(it.jobs?.running),
          },
          {
            name: 'Queued',
            number: true,
            short: 'queued',
            cell: (it) => count(it.jobs?.queued),
          },
        ],
      }),
      h('p.legend', {}, swatch('use', 'var(--run)'), tickmark('target')),
    );
  }

  owners(title, list, kind, all = list.length) {
    const cores = (it, key) => it.jobs?.[`${key}_cores`] ?? 0;
    const max = Math.max(...list.map((it) => cores(it, 'running') + cores(it, 'queued')), 1);
    const cut = Math.min(list.length, MOST);
    const bars = (it) =>
      twin(
        cores(it, 'running'),
        cores(it, 'queued'),
        max,
        `${cores(it, 'running')} running, ${cores(it, 'queued')} waiting`,
      );
    const held = (it) =>
      it.throttled?.length > 0 &&
      h('span.sub.sev-watch', {}, icon('throttles'), ` throttled by ${it.throttled.join(', ')}`);
    const columns = [
      {
        name: title.slice(0, -1),
        kind: 'c1',
        cell: (it) => [linkTo(kind, it.owner), held(it)],
      },
      {
        name: `${capital(words().cores)} that run and wait`,
        kind: 'wide',
        cell: (it) => h('span.line-bar', {}, bars(it)),
      },
      { name: 'Part', number: true, kind: 'c2', cell: (it) => h('b', {}, percent(it.part)) },
      {
        name: 'Running',
        number: true,
        short: 'running',
        cell: (it) => count(it.jobs?.running),
      },
      { name: 'Queued', number: true, short: 'queued', cell: (it) => count(it.jobs?.queued) },
    ];
    return card(
      {
        title,
        sub: all > cut ? `the ${count(cut)} with most of ${count(all)}` : count(all),
      },
      list.length
        ? rows({ label: title, rows: list.slice(0, MOST), keyOf: (it) => it.owner, columns })
        : empty('Nobody has jobs', 'Users are listed once their jobs run or wait.'),
    );
  }
}

/** Where no share has a target: who uses most. */
const mostOf = ({ owner, part: used }) => [
  h('b', {}, linkTo('user', owner), ' uses most: '),
  `${percent(used)} of the ${words().cores} that are used.`,
];

const signed = (points) => `${points > 0 ? '+' : '−'}${Math.abs(points).toFixed(1)}`;
