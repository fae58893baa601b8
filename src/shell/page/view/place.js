// The page of a queue, a cluster's queue or a site: does it work, who fills it, what refuses it.

import { chart, twin } from '../part/chart.js';
import { card, facts, lead, missing, pill, rows, status } from '../part/card.js';
import { h, icon, later, query } from '../part/dom.js';
import { ago, count, percent, plural, size, span, when } from '../part/format.js';
import { Live } from '../part/live.js';
import { beside, sentSince, story } from '../part/story.js';
import { capital } from '../part/waits.js';
import { hasWholes, isGrid, isPool, learn, linkTo, mostOf, why, words } from '../part/words.js';

const DAY = 86400000;
/** The process looks at so many decisions about a place. */
const READ = 500;
/** So many troubles of a site are sentences. */
const TROUBLES = 3;
const isKnown = (value) => value !== null && value !== undefined;

class Place extends Live {
  constructor(main, place, kind) {
    super(main, place, {
      explain: { path: 'explain', every: 10000, params: () => ({ kind, name: place.name }) },
      queues: { path: 'queues', every: 2000 },
      lines: {
        path: 'series',
        every: 60000,
        slow: true,
        // A name that is none has no curves.
        when: () => this.process && this.rows.length > 0,
        params: () => ({
          of: kind,
          name: place.name,
          what: 'running,queued,starts,finished,failed',
          from: Math.max(0, this.now - DAY),
        }),
      },
      sites: { path: 'sites', every: 10000, slow: true },
      waiting: {
        path: 'waiting',
        every: 20000,
        slow: true,
        when: () => kind === 'queue' && this.rows.length > 0,
        params: () => ({ queue: place.name, limit: 20 }),
      },
    });
    this.kind = kind;
  }

  /** The rows of /queues that this page is about. */
  get rows() {
    const all = this.data.queues?.queues ?? [];
    const mine = all.filter(
      (it) => it.queue === this.name || (this.kind === 'site' && it.site === this.name),
    );
    return mine;
  }

  /** What the explanation adds to the figures, of a queue or of all queues of a site. */
  get more() {
    const answer = this.data.explain;
    return answer?.[this.kind] ?? answer?.queue ?? answer?.site ?? null;
  }

  draw() {
    if (this.data.queues) learn(this.data.queues);
    const error = this.errors.explain;
    const mine = this.rows;
    if (!this.data.explain && !mine.length) {
      if (!error && !this.errors.queues)
        return [
          lead({ title: this.name }),
          card({ label: 'State' }, h('p.empty', { role: 'status' }, 'It is being asked for.')),
        ];
      return error?.status === 404 || this.data.queues
        ? this.unknown()
        : [
            lead({ title: this.name }),
            card({ label: 'State' }, missing(error ?? this.errors.queues, 'this')),
          ];
    }
    const troubles = this.troubles();
    return [
      this.head(mine, troubles),
      this.figures(mine),
      this.curves(),
      h(
        'div.cols',
        { 'data-key': 'cols' },
        h('div.stack', {}, story(this), this.kind === 'site' && !isPool() && this.queues(mine)),
        h('div.stack', {}, beside(this)),
      ),
    ];
  }

  /** Its own, also where *Now* sums them with those of others. */
  troubles() {
    const name = this.rows[0]?.site || this.name;
    const site = this.data.sites?.sites.find((it) => it.site === name);
    const isMine = ({ queue }) => this.kind === 'site' || !queue || queue === this.name;
    return (site?.troubles ?? []).filter(isMine);
  }

  head(mine, troubles) {
    const first = mine[0];
    const worst = troubles[0];
    const { statuses } = words();
    const queue = first?.queue ?? this.name;
    const off = statuses && `queue.${queue}.${statuses.field}=${statuses.values[0]}`;
    const says = [
      troubles
        .slice(0, TROUBLES)
        .map((it) => [
          h('b', {}, it.title, '. '),
          it.text,
          it.since && ` Since ${when(it.since, this.now)}.`,
          ' ',
        ]),
      troubles.length > TROUBLES && `And ${troubles.length - TROUBLES} more. `,
      !troubles.length && verdict(this.data.explain?.headline),
      ' ',
      h(
        'a',
        { href: why(this.name, { kind: this.kind === 'site' && !isPool() ? '' : 'queue' }) },
        'Reasons',
      ),
      ' · ',
      h('a', { href: `#decisions${query({ queue })}` }, 'Decisions'),
      ' · ',
      h('a', { href: `#time${query({ name: this.name })}` }, 'Counters as of a moment'),
      off && [' · ', h('a', { href: `#whatif${query({ set: off })}` }, 'What if it were offline?')],
    ];
    return lead({
      title: this.name,
      crumbs: [
        h('a', { href: '#sites' }, 'Sites'),
        first?.group,
        this.kind === 'queue' &&
          first?.site &&
          first.site !== this.name &&
          linkTo('site', first.site),
      ],
      marks: [
        mine.length === 1 && pill('plain', status(first.status)),
        worst &&
          !(mine.length === 1 && worst.rule === first.status) &&
          pill(worst.severity, icon(worst.severity), worst.rule.replaceAll('_', ' ')),
      ],
      says,
    });
  }

  figures(mine) {
    const sum = (key) => mine.reduce((total, it) => total + (it[key] ?? 0), 0);
    const most = (key) => mostOf(mine, key);
    const newest = (key) => most(key) || null;
    const age = (key) => ago(newest(key), this.now).replace(' ago', '');
    // Until they are known they are not said to be nothing.
    const known = mine.length > 0;
    const total = (key) => (known ? count(sum(key)) : '–');
    const none = known ? 'none is known' : '';
    const starts = this.total('starts');
    const failed = this.total('failed');
    const ended = failed === null ? null : failed + (this.total('finished') ?? 0);
    const queued = sum('queued');
    const pace =
      starts > 0 && queued > 0
        ? `${span((queued / starts) * DAY)} of work at the day’s rate`
        : queued
          ? ''
          : 'nothing waits';
    const before = isGrid() && sum('assigned');
    const sent = this.more?.accepted_24h;
    // Queues of a cluster share its nodes.
    const pledged = isGrid() ? most('pledged_cores') : sum('pledged_cores');
    return facts([
      [
        'Running',
        total('running'),
        pledged && hasWholes()
          ? `${total('running_cores')} of ${count(pledged)} ${words().cores}`
          : `${total('running_cores')} ${words().cores}`,
      ],
      isPool()
        ? ['Live offers', total('offers'), `${total('free_cores')} cores free`]
        : [
            'Queued',
            total('queued'),
            before ? `${count(before)} before the batch system` : known ? pace : '',
          ],
      isGrid() && [
        'Free',
        count(most('free_cores')),
        `CPUs; disk ${size(most('disk_free_bytes'))}, cache ${size(most('cache_free_bytes'))}`,
      ],
      isGrid() &&
        sum('transferring') > 0 && ['Finishing', total('transferring'), 'outputs on their way'],
      [
        'Last start',
        age('last_start_at'),
        newest('last_start_at')
          ? `ago, at ${when(newest('last_start_at'), this.now)}`
          : none,
      ],
      ended === null
        ? null
        : [
            'Failed, 24 h',
            count(failed),
            ended ? `of ${count(ended)} that ended, ${percent(failed / ended, 0)}` : 'none ended',
          ],
      isPool()
        ? ['Last offer', age('last_offer_at'), newest('last_offer_at') ? 'ago' : none]
        : hasWholes()
          ? [
              'Facts',
              age('as_of'),
              mine.some((it) => it.answered === false)
                ? 'old; it does not answer'
                : 'old; it answers',
            ]
          : [
              'Last pilot',
              age('last_pilot_at'),
              `${newest('last_pilot_at') ? 'ago; ' : ''}${count(sum('pilots_running'))} run, ${count(sum('pilots_submitted'))} submitted`,
            ],
      sent && [
        'Chosen',
        sent.requests < READ ? plural(sent.requests, 'time') : `${count(READ)}+ times`,
        `${plural(sent.jobs, 'job')}${sent.requests < READ ? '' : ' or more'} ${sentSince(this)}`,
      ],
    ]);
  }

  /** Jobs of the last day, by the rates of the history; null where it has none. */
  total(what) {
    const answer = this.data.lines;
    const values = answer?.series?.find((it) => it.what === what)?.values?.filter(isKnown);
    return values?.length
      ? Math.round(values.reduce((a, b) => a + b, 0) * (answer.step_s / 3600))
      : null;
  }

  curves() {
    const answer = this.data.lines;
    if (!answer)
      return this.errors.lines
        ? card({ label: 'Curves', key: 'curves' }, missing(this.errors.lines, 'its curves'))
        : null;
    const values = (what) => answer.series.find((it) => it.what === what)?.values ?? [];
    const base = { at: answer.at, gaps: answer.gaps };
    const [high, low] = isPool() ? [110, 110] : [130, 90];
    const one = (label, height, series) =>
      card({ label, key: label }, h('div.pad', {}, chart({ ...base, label, height, series })));
    return later(`curves ${this.name} ${this.sources.versions.lines}`, () =>
      h(
        `div.cols.${isPool() ? 'third' : 'half'}`,
        {},
        one('Jobs running', high, [
          { name: 'running', values: values('running'), color: 'var(--run)' },
        ]),
        // Idle jobs of a pool are at no site.
        !isPool() &&
          one('Jobs queued', high, [
            { name: 'queued', values: values('queued'), color: 'var(--wait-line)' },
          ]),
        one('Starts per hour', low, [
          { name: 'starts', values: values('starts'), color: 'var(--start)', kind: 'bars' },
        ]),
        one('Ended per hour', low, [
          {
            name: 'failed',
            values: values('failed'),
            color: 'var(--fail)',
            kind: 'bars',
            stack: true,
          },
          {
            name: 'finished',
            values: values('finished'),
            color: 'var(--cut)',
            kind: 'bars',
            stack: true,
          },
        ]),
      ),
    );
  }

  /** The queues of a site. */
  queues(mine) {
    if (mine.length < 2) return null;
    const max = Math.max(...mine.map((it) => it.running + it.queued), 1);
    return card(
      { title: 'Its queues', sub: count(mine.length) },
      rows({
        label: 'Its queues',
        rows: mine,
        keyOf: (it) => it.queue,
        columns: [
          { name: 'Queue', kind: 'c1', cell: (it) => linkTo('queue', it.queue) },
          { name: 'Status', kind: 'c2', cell: (it) => status(it.status) },
          {
            name: 'Jobs',
            kind: 'wide',
            cell: (it) => [
              h(
                'span.line',
                {},
                h('b', {}, count(it.running)),
                h('span.soft', {}, ` run · ${count(it.queued)} wait`),
              ),
              twin(it.running, it.queued, max),
            ],
          },
          {
            name: 'Last start',
            number: true,
            short: 'last start',
            cell: (it) => ago(it.last_start_at, this.now),
          },
        ],
      }),
    );
  }

  /** A name that is none, with those that are near to it. */
  unknown() {
    const all = (this.data.queues?.queues ?? []).flatMap((it) =>
      this.kind === 'site' ? [it.site || it.queue] : [it.queue],
    );
    const near = [...new Set(all)]
      .map((name) => [distance(name.toLowerCase(), this.name.toLowerCase()), name])
      .sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1))
      .slice(0, 5)
      .map(([, name], at) => [at > 0 && ', ', linkTo(this.kind, name)]);
    return [
      lead({ title: this.name || `No ${this.kind} is named` }),
      card(
        { label: 'Unknown', key: 'unknown' },
        h(
          'p.empty',
          { role: 'status' },
          h('b', {}, `Nothing is known of a ${this.kind} ${this.name}`),
          near.length ? ['Near to it: ', near, '. '] : '',
          h('a', { href: this.kind === 'site' ? '#sites' : '#queues' }, 'All of them'),
        ),
      ),
    ];
  }
}

/** A headline as a sentence. */
const verdict = (text) => (text ? `${capital(text)}.` : '');

/** How many letters differ between two short names, at most; names that hold the other are near. */
function distance(one, other) {
  if (one.includes(other) || other.includes(one)) return Math.abs(one.length - other.length) / 100;
  let before = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1)
      row[j] = Math.min(
        row[j - 1] + 1,
        before[j] + 1,
        before[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1),
      );
    before = row;
  }
  return before[other.length];
}

export class Queue extends Place {
  constructor(main, place) {
    super(main, place, 'queue');
  }
}

export class Site extends Place {
  constructor(main, place) {
    super(main, place, 'site');
  }
}
