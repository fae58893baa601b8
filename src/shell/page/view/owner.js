// The page of a share, a user or a group: what is used against what is due, what waits, throttles.

import { bar, chart, twin } from '../part/chart.js';
import { card, empty, facts, lead, missing, pill, swatch, tickmark } from '../part/card.js';
import { h, icon, later, query } from '../part/dom.js';
import { eventTable } from '../part/events.js';
import { count, percent, plural, span } from '../part/format.js';
import { Live } from '../part/live.js';
import { capital } from '../part/waits.js';
import { isPool, linkTo, queueLink, why, whyLink, words } from '../part/words.js';

const DAY = 86400000;

class Owner extends Live {
  constructor(main, place, kind) {
    super(main, place, {
      explain: { path: 'explain', every: 10000, params: () => ({ kind, name: place.name }) },
      waiting: {
        path: 'waiting',
        every: 10000,
        slow: true,
        params: () => ({ [kind === 'share' ? 'share' : 'user']: place.name, limit: 50 }),
        when: () => kind !== 'group',
      },
      shares: { path: 'shares', every: 5000, slow: true, when: () => kind === 'share' },
      throttles: { path: 'throttles', every: 10000, slow: true, when: () => kind !== 'share' },
      usage: { path: 'usage', every: 10000, slow: true, when: () => kind !== 'share' },
      lines: {
        path: 'series',
        every: 60000,
        slow: true,
        when: () => this.process && kind !== 'group',
        params: () => ({
          of: kind,
          name: place.name,
          what: 'running,queued',
          from: Math.max(0, this.now - DAY),
        }),
      },
    });
    this.kind = kind;
  }

  draw() {
    const answer = this.data.explain;
    const error = this.errors.explain;
    const title = this.name;
    if (!answer)
      return [
        lead({ title, crumbs: [this.kind] }),
        card(
          { label: 'State' },
          error
            ? missing(error, `this ${this.kind}`)
            : h('p.empty', { role: 'status' }, 'It is being asked for.'),
        ),
      ];
    const held = (this.data.throttles?.throttles ?? []).filter((it) => it.subject === this.name);
    return [
      lead({
        title,
        crumbs: [this.kind],
        marks: [held.length > 0 && pill('watch', icon('throttles'), 'throttled')],
        says: [
          `${capital(answer.headline)}.`,
          ' ',
          h('a', { href: why(this.name, { kind: this.kind }) }, 'Reasons'),
          ' · ',
          h(
            'a',
            {
              href: `#decisions${query({ [this.kind === 'share' ? 'gshare' : 'user']: this.name })}`,
            },
            'Decisions',
          ),
        ],
      }),
      this.figures(answer),
      held.length > 0 &&
        card(
          { title: 'Throttles in force', more: ['all', '#throttles'] },
          h(
            'ul.bars',
            {},
            held.map((it) =>
              h(
                'li',
                {},
                h(
                  'span.line',
                  {},
                  h('b', {}, it.help || it.rule),
                  h(
                    'span.r',
                    {},
                    `${count(it.measured)} of at most ${count(it.limit)} ${it.unit ?? ''}`,
                  ),
                ),
                bar(
                  [{ value: it.measured, color: 'var(--watch)', name: 'measured' }],
                  Math.max(it.measured, it.limit) * 1.1,
                  { tick: it.limit },
                ),
                h('span.tiny.soft', {}, it.lifted_when),
              ),
            ),
          ),
        ),
      this.curves(),
      h(
        `div.cols${answer.share?.users?.length ? '' : '.one'}`,
        { 'data-key': 'cols' },
        h('div.stack', {}, this.waits()),
        h('div.stack', {}, this.users(answer)),
      ),
      this.past(answer),
    ];
  }

  figures(answer) {
    const part = this.used ?? answer.share ?? answer.owner ?? {};
    const share = this.data.shares?.shares.find((it) => it.gshare === this.name);
    const use = part.use ?? share?.use;
    const target = part.target ?? share?.target;
    const first = (...values) => values.find((it) => it !== undefined && it !== null);
    const running = first(part.running, part.running_jobs, this.last('running'));
    const queued = first(part.queued, part.queued_jobs, this.last('queued'));
    const open = this.data.waiting;
    const off = use !== undefined && target !== undefined ? use - target : null;
    return [
      facts([
        use !== undefined && [
          'Use',
          percent(use),
          off === null
            ? ''
            : `${(100 * Math.abs(off)).toFixed(1)} points ${off > 0 ? 'above' : 'below'} the target`,
        ],
        target !== undefined && [
          'Target',
          percent(target),
          isPool() ? 'by the quotas of sites' : 'by the tree of shares',
        ],
        [
          'Running',
          count(running),
          part.running_cores === undefined
            ? 'jobs'
            : `${count(part.running_cores)} ${words().cores}`,
        ],
        [
          'Queued',
          count(queued),
          part.queued_cores === undefined ? 'jobs' : `${count(part.queued_cores)} ${words().cores}`,
        ],
        open && [
          'Waiting',
          count(open.requests.length),
          open.requests.length
            ? `the oldest for ${span(this.now - open.requests[0].asked_at)}`
            : 'nothing waits',
        ],
      ]),
      use !== undefined &&
        target !== undefined &&
        card(
          { label: 'Use against target', key: 'use' },
          h(
            'div.pad',
            {},
            bar(
              [{ value: use, color: 'var(--run)', name: 'use' }],
              Math.max(use, target) * 1.2 || 1,
              { tick: target, label: `uses ${percent(use)}, target ${percent(target)}` },
            ),
          ),
          h('p.legend', {}, swatch('use', 'var(--run)'), tickmark('target')),
        ),
    ];
  }

  /** What the owner uses of all places, by /usage. */
  get used() {
    const list = this.kind === 'group' ? this.data.usage?.groups : this.data.usage?.users;
    return list?.find((it) => it.owner === this.name)?.jobs;
  }

  last(what) {
    return this.data.lines?.series
      ?.find((it) => it.what === what)
      ?.values.findLast((it) => it !== null);
  }

  curves() {
    const answer = this.data.lines;
    // Jobs of production are not counted by user, so their curve would be none.
    const isFlat = !answer?.series?.some((it) => it.values.some((value) => value > 0));
    if (isFlat) return null;
    const values = (what) => answer.series.find((it) => it.what === what)?.values ?? [];
    const base = { at: answer.at, gaps: answer.gaps, height: 130 };
    const one = (label, series) =>
      card({ label, key: label }, h('div.pad', {}, chart({ ...base, label, series })));
    return later(`curves ${this.sources.versions.lines}`, () =>
      h(
        'div.cols.half',
        {},
        one('Jobs running', [{ name: 'running', values: values('running'), color: 'var(--run)' }]),
        one('Jobs queued', [
          { name: 'queued', values: values('queued'), color: 'var(--wait-line)' },
        ]),
      ),
    );
  }

  waits() {
    const answer = this.data.waiting;
    if (!answer) return null;
    const titles = new Map(answer.by_reason.map((it) => [it.reason, it.title]));
    const list = answer.requests;
    return card(
      {
        title: 'What waits',
        sub: list.length ? plural(list.length, words().request) : null,
        more: ['all', `#waiting${query({ [this.kind]: this.name })}`],
      },
      list.length
        ? h(
            'ul.acts',
            {},
            list
              .slice(0, 10)
              .map((it) =>
                h(
                  'li',
                  { 'data-key': it.subject },
                  h('span.at', {}, span(this.now - it.asked_at)),
                  icon('waiting'),
                  h(
                    'div.body',
                    {},
                    it.task ? linkTo('task', it.task, it.subject) : whyLink(it.subject),
                    `: ${plural(it.jobs, 'job')}, ${titles.get(it.reason) ?? it.reason}`,
                    it.nearest?.queue && ['; nearest ', queueLink(it.nearest.queue)],
                  ),
                ),
              ),
          )
        : empty('Nothing waits', `Every ${words().request} has its answer.`),
    );
  }

  past({ throttles = [], commands = [] }) {
    return [
      throttles.length > 0 &&
        card(
          { title: 'Throttles set and lifted' },
          later(JSON.stringify(throttles.map((it) => it.id)), () =>
            eventTable(throttles, 'Throttles'),
          ),
        ),
      commands.length > 0 &&
        card(
          { title: 'Commands' },
          later(JSON.stringify(commands.map((it) => it.id)), () =>
            eventTable(commands, 'Commands'),
          ),
        ),
    ];
  }

  users({ share }) {
    const list = share?.users ?? [];
    if (!list.length) return null;
    const max = Math.max(...list.map((it) => it.running + it.queued), 1);
    return card(
      { title: 'Users of it' },
      h(
        'ul.bars',
        {},
        list
          .slice(0, 10)
          .map((it) =>
            h(
              'li',
              {},
              h(
                'span.line',
                {},
                linkTo('user', it.name),
                h('span.r', {}, h('b', {}, count(it.running)), ` run · ${count(it.queued)} wait`),
              ),
              twin(it.running, it.queued, max),
            ),
          ),
      ),
    );
  }
}

export class Share extends Owner {
  constructor(main, place) {
    super(main, place, 'share');
  }
}

export class User extends Owner {
  constructor(main, place) {
    super(main, place, place.params.kind === 'group' ? 'group' : 'user');
  }
}
