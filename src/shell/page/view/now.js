// Now: what needs a person first, then the day in figures, then every place in its group. The
// three domains are shown by the same parts; which figures there are is the domain's.

import { bar } from '../part/chart.js';
import {
  attention,
  barLine,
  card,
  empty,
  figures,
  lead,
  missing,
  needs,
  part,
  sharesCard,
  usersCard,
} from '../part/card.js';
import { h } from '../part/dom.js';
import { count, percent, plural, short, span, when } from '../part/format.js';
import { setBadge } from '../part/frame.js';
import { compareGroups, curves, groupsCard, groupsOf, troubles } from '../part/groups.js';
import { Live } from '../part/live.js';
import { ages, onHold, poolSide, workflows } from '../part/pool.js';
import { isGrid, isPool, hasWholes, known, learn, linkTo, words } from '../part/words.js';

const DAY = 86400000;
const MINUTE = 60000;
/** So many of a list are shown here; all are in the view that the card leads to. */
const LISTED = 5;

export class Now extends Live {
  constructor(main, place) {
    const lately = () => ({ from: Math.max(0, this.now - DAY) });
    super(main, place, {
      queues: { path: 'queues' },
      attention: { path: 'attention', every: 3000 },
      sites: { path: 'sites', every: 10000, slow: true },
      shares: { path: 'shares', every: 5000, slow: true },
      waiting: { path: 'waiting', params: () => ({ limit: LISTED }), every: 10000, slow: true },
      throttles: {
        path: 'throttles',
        every: 10000,
        slow: true,
        when: () => this.data.queues && !isPool(),
      },
      usage: { path: 'usage', every: 10000, slow: true, when: () => isGrid() },
      pool: { path: 'pool', every: 5000, slow: true, when: () => isPool() },
      all: {
        path: 'series',
        params: () => ({
          of: 'all',
          what: 'running,queued,starts,finished,failed,waiting',
          ...lately(),
        }),
        every: MINUTE,
        slow: true,
        when: () => this.process,
      },
      places: {
        path: 'series',
        params: () => ({ of: 'queue', what: 'running', ...lately() }),
        every: MINUTE,
        slow: true,
        when: () => this.process,
      },
    });
  }

  draw() {
    const { queues, attention: needed } = this.data;
    if (!queues) return this.waits();
    learn(queues);
    const items = needed?.items ?? [];
    const acts = items.filter((it) => it.severity === 'act').length;
    setBadge('now', acts, { act: true, text: acts === 1 ? ' needs a person' : ' need a person' });
    return [
      lead({ title: 'Now', says: [needed && needs(items), this.sentence(queues.queues)] }),
      this.errors.attention && !needed
        ? card({ title: 'Needs a person' }, missing(this.errors.attention, 'what needs a person'))
        : attention(items, this.now),
      figures(isPool() ? this.poolFigures() : this.figures()),
      queues.queues.length
        ? h(
            'div.cols',
            { 'data-key': 'cols' },
            h('div.stack', {}, this.groups(), isPool() && workflows(this)),
            h('div.stack', {}, this.side()),
          )
        : card({ title: words().places, key: 'none' }, this.nothing()),
    ];
  }

  /** While the process shows no cycle. */
  waits() {
    const state = this.process?.state;
    const error = this.errors.queues;
    const says = state?.restoring
      ? empty(
          `Restoring: ${percent(state.restored_ratio, 0)} of the cycles are replayed`,
          'Figures follow when the state is complete. Nothing is decided until then.',
        )
      : error
        ? missing(error, 'the state of the grid')
        : h('p.empty', { role: 'status' }, 'The state is being asked for.');
    return [lead({ title: 'Now' }), card({ label: 'State' }, says)];
  }

  nothing() {
    return h(
      'p.empty',
      {},
      h('b', {}, `No ${words().place} is known yet`),
      `No record that names a ${words().place} was read, and no job. `,
      h('code', {}, 'yardmaster import'),
      ' brings facts; ',
      h('code', {}, 'yardmaster demo'),
      ' simulates a grid.',
    );
  }

  sum(key) {
    return this.data.queues.queues.reduce((total, it) => total + (it[key] ?? 0), 0);
  }

  sentence(queues) {
    const { cores, request } = words();
    const running = `${count(this.sum('running'))} jobs run on ${count(this.sum('running_cores'))} ${cores}`;
    const pool = this.data.pool;
    if (pool)
      return `${running}; ${count(pool.idle)} jobs are idle in ${plural(pool.workflows_open, 'workflow')}${onHold(pool).map((it) => `, ${it}`).join('')}.`;
    const { waiting } = this.data;
    const oldest = waiting?.requests?.[0]?.asked_at;
    const open = waiting?.open ?? this.process?.requests_open;
    const waits = open
      ? `${plural(open, request)} ${open === 1 ? 'waits' : 'wait'}${oldest ? `, the oldest for ${span(this.now - oldest)}` : ''}`
      : `no ${request} waits`;
    return `${running} at ${plural(queues.length, words().place)}, ${count(this.sum('queued'))} are queued; ${waits}.`;
  }

  // --- Figures -----------------------------------------------------------------------------------

  /** Values of the whole domain over the last day. */
  values(what) {
    return this.data.all?.series?.find((it) => it.what === what)?.values;
  }

  figure(label, what, value, sub, more = {}) {
    const values = this.values(what) ?? [];
    const isFlat = !values.some((it) => it > 0);
    return { label, value: short(value), sub, values: isFlat ? [] : values, ...more };
  }

  /** `24 h: 2,174 to 3,459` */
  range(what) {
    const values = (this.values(what) ?? []).filter((it) => it !== null);
    return values.length
      ? `24 h: ${short(Math.min(...values))} to ${short(Math.max(...values))}`
      : '';
  }

  rate(label, what, color) {
    const values = (this.values(what) ?? []).filter((it) => it !== null);
    const mean = values.reduce((a, b) => a + b, 0) / (values.length || 1);
    return this.figure(
      label,
      what,
      values.at(-1),
      values.length ? `24 h mean: ${short(mean)}` : '',
      { color },
    );
  }

  failed() {
    const failed = this.values('failed') ?? [];
    const finished = this.values('finished') ?? [];
    const part_ = failed.map((it, at) => {
      const ended = (it ?? 0) + (finished[at] ?? 0);
      return ended ? (100 * (it ?? 0)) / ended : null;
    });
    const total = (list) => list.reduce((a, b) => a + (b ?? 0), 0);
    const ended = total(failed) + total(finished);
    const last = part_.findLast((it) => it !== null);
    return {
      label: 'Jobs failed',
      value: last === undefined ? '–' : last.toFixed(1),
      unit: last === undefined ? '' : ' %',
      sub: ended ? `24 h mean: ${percent(total(failed) / ended)}` : 'of those that ended',
      values: part_,
      color: 'var(--fail)',
    };
  }

  figures() {
    const { cores, waiting, queued } = words();
    const used = this.sum('running_cores');
    const pledged = this.sum('pledged_cores');
    const open = this.data.waiting?.open ?? this.process?.requests_open;
    const oldest = this.data.waiting?.requests?.[0]?.asked_at;
    const whole = hasWholes() && pledged ? `of ${count(pledged)} published` : 'by jobs that run';
    const upper = cores[0].toUpperCase() + cores.slice(1);
    return [
      this.figure('Jobs running', 'running', this.sum('running'), this.range('running')),
      this.figure(queued, 'queued', this.sum('queued'), this.range('queued'), {
        color: 'var(--wait-line)',
      }),
      this.figure(waiting, 'waiting', open, oldest ? `oldest ${span(this.now - oldest)}` : '', {
        href: '#waiting',
        color: 'var(--wait-line)',
      }),
      this.rate('Starts per hour', 'starts', 'var(--start)'),
      this.failed(),
      this.figure(`${upper} used`, 'cores', used, whole),
    ];
  }

  poolFigures() {
    const pool = this.data.pool;
    const pledged = this.sum('pledged_cores');
    return [
      this.figure(
        'Cores used',
        'cores',
        this.sum('running_cores'),
        pledged ? `of ${count(pledged)} pledged` : '',
      ),
      this.figure('Jobs running', 'running', this.sum('running'), this.range('running')),
      this.figure(
        'Jobs idle',
        'waiting',
        pool?.idle ?? this.sum('queued'),
        pool ? [`${short(pool.idle_cores)} cores`, ...onHold(pool)].join(', ') : '',
        { href: '#waiting', color: 'var(--wait-line)' },
      ),
      this.rate('Starts per hour', 'starts', 'var(--start)'),
      this.failed(),
      pool?.offers && {
        label: 'Live offers',
        value: count(pool.offers.live),
        unit: ` ${count(pool.offers.cores_free)} cores free`,
        sub: ages(pool.offers, this.now),
        values: [],
      },
    ];
  }

  // --- Cards -------------------------------------------------------------------------------------

  groups() {
    const { queues } = this.data.queues;
    const worst = troubles(this.data.sites);
    const groups = this.steady(
      'groups',
      groupsOf(queues, worst),
      (it) => it.name,
      compareGroups,
      '.groups',
      this.data.sites ? 'troubles' : '',
    );
    return groupsCard({
      groups,
      worst,
      lines: curves(this.data.places),
      version: this.sources.versions.places ?? 0,
      now: this.now,
      more: isPool() ? ['all sites', '#sites'] : [`all ${words().places.toLowerCase()}`, '#queues'],
    });
  }

  side() {
    const shares = this.data.shares?.shares;
    if (shares) known.shares = new Set(shares.map((it) => it.gshare));
    if (isPool()) return poolSide(this, shares?.length > 0 && this.shares(shares));
    return [
      isGrid() && this.reasons(),
      shares && (shares.length > 0 || !hasWholes()) && this.shares(shares),
      isGrid() && this.users(),
      this.oldest(),
      this.throttles(),
    ];
  }

  /** The one that is farthest off its target first. */
  shares(list) {
    const off = (it) => Math.abs(it.use - it.target);
    const compare = (a, b) => off(b) - off(a);
    return sharesCard(
      this.steady('shares', list, (it) => it.gshare, compare, '[data-key^="Shares"]'),
    );
  }

  /** Of a grid: who has most of its CPUs. */
  users() {
    const list = this.data.usage?.users ?? [];
    const upper = words().cores;
    return usersCard(
      `Users with most ${upper}`,
      list.map(({ owner, part: used, jobs }) => ({
        user: owner,
        running: jobs.running_cores,
        queued: jobs.queued_cores,
        beside: percent(used),
      })),
    );
  }

  reasons() {
    const list = this.data.waiting?.by_reason ?? [];
    if (!list.length) return null;
    const max = Math.max(...list.map((it) => it.jobs), 1);
    return card(
      { title: 'Why jobs wait', more: ['all', '#waiting'] },
      h(
        'ul.bars',
        {},
        list.slice(0, 8).map((it) =>
          barLine({
            key: it.reason,
            name: h('a', { href: `#waiting?reason=${encodeURIComponent(it.reason)}` }, it.title),
            right: h('b', {}, count(it.jobs)),
            bar: bar([{ value: it.jobs, color: 'var(--wait)', name: 'jobs', hatch: true }], max, {
              height: 6,
            }),
            below: it.help,
          }),
        ),
      ),
    );
  }

  oldest() {
    const title = `Oldest waiting`;
    const { request } = words();
    return card(
      {
        title,
        sub: this.data.waiting && `of ${plural(this.data.waiting.open, `open ${request}`)}`,
        more: ['all', '#waiting'],
      },
      part(this, 'waiting', 'what waits', ({ requests, by_reason: reasons = [] }) => {
        const titles = new Map(reasons.map((it) => [it.reason, it.title]));
        if (!requests.length) return empty('Nothing waits', `Every ${request} has its answer.`);
        return h(
          'ul.bars',
          {},
          requests.slice(0, LISTED).map((it) =>
            barLine({
              key: it.subject,
              name: [
                linkTo(it.task ? 'task' : 'request', it.task || it.subject, it.subject),
                ' ',
                h('span.soft', {}, it.gshare || it.user),
              ],
              right: h('b', {}, span(this.now - it.asked_at)),
              below: it.held_by
                ? `Throttled by ${it.held_by.rule}`
                : (titles.get(it.reason) ?? it.reason),
            }),
          ),
        );
      }),
    );
  }

  throttles() {
    return card(
      { title: 'Throttles in force', more: ['all', '#throttles'] },
      part(this, 'throttles', 'who is throttled', ({ throttles }) => {
        if (!throttles.length)
          return empty(
            'Nobody is throttled',
            'Users, groups and tasks above a cap are listed here, with until when.',
          );
        return [
          h(
            'ul.bars',
            {},
            throttles.slice(0, LISTED).map((it) =>
              barLine({
                key: `${it.rule} ${it.subject}`,
                name: [linkTo(it.kind, it.subject), ' ', h('span.soft', {}, it.rule)],
                right: it.until ? `until ${when(it.until, this.now)}` : '',
                below: it.lifted_when,
              }),
            ),
          ),
          throttles.length > LISTED && h('p.legend', {}, `and ${throttles.length - LISTED} more`),
        ];
      }),
    );
  }

  /** When the first figures were made and painted: to be measured. */
  written() {
    if (this.isMarked || !this.data.queues) return;
    this.isMarked = true;
    performance.mark('groups');
    requestAnimationFrame(() => setTimeout(() => performance.mark('groups-painted')));
  }
}
