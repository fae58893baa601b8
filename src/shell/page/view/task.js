// The page of a task (of a pool: a workflow): where its jobs are, why it is slow, what decided it.

import { bar, chart } from '../part/chart.js';
import { card, empty, facts, lead, missing, pill, swatch } from '../part/card.js';
import { decisionView } from '../part/decision.js';
import { h, icon, later, query } from '../part/dom.js';
import { amount, count, moment, percent, plain, plural, span, when } from '../part/format.js';
import { Live } from '../part/live.js';
import { timeline } from '../part/timeline.js';
import { capital } from '../part/waits.js';
import { isPool, linkTo, queueLink, why, words } from '../part/words.js';

/** Statuses of jobs in the order of their way: name, colour, hatched. */
const STATES = [
  ['finished', 'var(--start)', false],
  ['ending', 'var(--accent)', false],
  ['running', 'var(--run)', false],
  ['queued', 'var(--wait)', true],
  ['failed', 'var(--fail)', false],
  ['closed', 'var(--cut)', true],
];
/** So many queues are listed. */
const QUEUES = 8;

const heading = (task) => `${words().task[0].toUpperCase()}${words().task.slice(1)} ${task}`;
/** As a sentence, however it ends. */
const sentence = (text) => `${capital(text).replace(/\.$/, '')}.`;
const sumOf = (list, key) => list.reduce((total, it) => total + (it[key] ?? 0), 0);

export class Task extends Live {
  constructor(main, place) {
    super(main, place, {
      task: { path: 'task', every: 5000, params: () => ({ name: place.name }) },
      explain: {
        path: 'explain',
        every: 10000,
        slow: true,
        params: () => ({ kind: 'task', name: place.name }),
      },
      lines: {
        path: 'series',
        every: 60000,
        slow: true,
        when: () => this.data.task,
        params: () => ({
          of: 'task',
          name: place.name,
          what: 'finished,failed',
          from: Math.max(0, (this.data.task.asked_at ?? this.now) - 600000),
        }),
      },
      attention: { path: 'attention', every: 10000, slow: true },
    });
    this.picked = place.params.id ?? '';
  }

  draw() {
    const it = this.data.task;
    if (!it) return this.without();
    const trouble = (this.data.attention?.items ?? []).find(
      (one) => ['task', 'workflow'].includes(one.kind) && one.name === this.name,
    );
    const open = it.requests.filter((one) => one.open).length;
    return [
      lead({
        title: heading(it.task ?? this.name),
        crumbs: [
          linkTo('share', it.gshare),
          linkTo('user', it.user),
          it.nucleus && `nucleus ${it.nucleus}`,
        ],
        marks: [
          trouble &&
            pill(trouble.severity, icon(trouble.severity), trouble.rule.replaceAll('_', ' ')),
          !trouble &&
            open > 0 &&
            pill('watch', icon('waiting'), `${plural(open, words().request)} open`),
        ],
        says: [
          `${plain(it.say, it.now)}.`,
          ' ',
          h('a', { href: why(this.name, { kind: 'task' }) }, 'Reasons'),
          ' · ',
          h('a', { href: `#decisions${query({ task: this.name })}` }, 'Decisions'),
        ],
      }),
      this.figures(it, open),
      timeline(it),
      this.halves([this.jobs(it), this.curve(), this.estimate(it)], [this.byQueue(it), this.commands(it)]),
      this.decisions(),
    ];
  }

  /** Two columns, or one where the first has nothing. */
  halves(left, right) {
    const isOne = left.every((it) => !it);
    return h(
      `div.cols${isOne ? '.one' : '.half'}`,
      { 'data-key': isOne ? 'one' : 'half' },
      !isOne && h('div.stack', {}, left),
      h('div.stack', {}, right),
    );
  }

  /** No page of it: the reasons may know the name as that of something else. */
  without() {
    const error = this.errors.task;
    const head = lead({ title: heading(this.name) });
    if (!error)
      return [
        head,
        card({ label: 'State' }, h('p.empty', { role: 'status' }, 'It is being asked for.')),
      ];
    const has = this.data.explain;
    return [
      head,
      card(
        { label: 'State', key: 'state' },
        missing(error, 'where its jobs are'),
        h(
          'p.empty',
          {},
          h('a', { href: why(this.name) }, 'Search the name among all that is known'),
        ),
      ),
      has && this.decisions(),
    ];
  }

  figures(it, open) {
    const by = Object.fromEntries(STATES.map(([name]) => [name, sumOf(it.queues, name)]));
    const stage = it.stages ?? {};
    const ended = (by.finished ?? 0) + (by.failed ?? 0);
    const seconds = (value) => (value === null || value === undefined ? '–' : span(1000 * value));
    return facts([
      [
        'Jobs',
        count(it.jobs?.total),
        `${count(by.running ?? 0)} running, ${count(by.queued ?? 0)} queued`,
      ],
      [
        'Finished',
        count(by.finished ?? 0),
        it.jobs?.total ? `${percent((by.finished ?? 0) / it.jobs.total, 0)} of all` : '',
      ],
      [
        'Failed',
        count(by.failed ?? 0),
        ended ? `${percent((by.failed ?? 0) / ended, 0)} of those that ended` : '',
      ],
      by.closed > 0 && ['Closed', count(by.closed), 'and brokered again'],
      !isPool() && [
        'Requests',
        count(it.requests.length),
        open ? `${count(open)} wait now` : 'all are answered',
      ],
      stage.wait_for_decision_s !== null && [
        'Wait for a decision',
        seconds(stage.wait_for_decision_s),
        'median',
      ],
      ['Wait for a start', seconds(stage.wait_for_start_s), 'median, from the decision on'],
    ]);
  }

  /** Queued and running, since its first job was there. */
  jobs({ curve = [] }) {
    const label = 'Its jobs over time';
    if (!curve.some((it) => it.queued + it.running > 0)) return null;
    const shown = STATES.filter(([name]) => ['queued', 'running'].includes(name));
    const series = shown.map(([name, color]) => ({
      name,
      color,
      values: curve.map((it) => it[name]),
    }));
    const at = curve.map((it) => it.at);
    return later(`jobs ${this.sources.versions.task}`, () =>
      card({ label, key: 'jobs' }, h('div.pad', {}, chart({ at, gaps: [], label, series }))),
    );
  }

  curve() {
    const answer = this.data.lines;
    const label = 'Its jobs that ended, per hour';
    if (!answer) {
      const error = this.errors.lines;
      return error ? card({ title: label }, missing(error, 'its curves')) : null;
    }
    const ended = STATES.filter(([name]) => ['finished', 'failed'].includes(name));
    const series = ended.map(([name, color]) => ({
      name,
      color,
      stack: true,
      kind: 'bars',
      values: answer.series.find((it) => it.what === name)?.values ?? [],
    }));
    if (!series.some((it) => it.values.some((value) => value > 0))) return null;
    return later(`curve ${this.sources.versions.lines}`, () =>
      card(
        { label, key: 'ended' },
        h('div.pad', {}, chart({ at: answer.at, gaps: answer.gaps, label, series })),
      ),
    );
  }

  estimate({ estimate, no_estimate: none, now }) {
    const title = 'When it may start';
    if (!estimate)
      return none ? card({ title, key: 'estimate' }, empty('No estimate', sentence(none))) : null;
    const { start_from: from, start_to: to, start_likely: likely, queue, basis } = estimate;
    const begin = from <= now ? 'From now' : `From ${when(from, now)}`;
    const end = to ? `to ${when(to, now)} UTC` : 'on; no end is known';
    return card(
      { title, key: 'estimate' },
      h(
        'div.pad.small',
        {},
        h('p', {}, h('b', {}, `${begin} ${end}`), queue && [' at ', queueLink(queue)], '.'),
        likely && h('p', {}, `Likely ${when(likely, now)}, in ${span(likely - now)}.`),
        h('p.soft', {}, basis),
      ),
    );
  }

  byQueue({ queues }) {
    const total = (it) => STATES.reduce((sum, [name]) => sum + (it[name] ?? 0), 0);
    const list = queues.slice().sort((a, b) => total(b) - total(a));
    const max = Math.max(...list.map(total), 1);
    const there = STATES.filter(([name]) => sumOf(list, name) > 0);
    return card(
      {
        title: `Its jobs by ${words().place}`,
        sub: list.length ? plural(list.length, words().place) : null,
      },
      list.length
        ? [
            h(
              'ul.bars',
              {},
              list.slice(0, QUEUES).map((it) =>
                h(
                  'li',
                  { 'data-key': it.queue },
                  h(
                    'span.line',
                    {},
                    queueLink(it.queue) ?? `no ${words().place} yet`,
                    h(
                      'span.r',
                      {},
                      there
                        .filter(([name]) => it[name])
                        .map(([name], at) => [
                          at > 0 && ' · ',
                          h('b', {}, count(it[name])),
                          ` ${name}`,
                        ]),
                    ),
                  ),
                  bar(
                    there.map(([name, color, hatch]) => ({
                      name,
                      color,
                      hatch,
                      value: it[name] ?? 0,
                    })),
                    max,
                  ),
                  typeof it.ahead === 'number' &&
                    h(
                      'span.sub',
                      {},
                      `${count(it.ahead)} queued there go before, ` +
                        `${it.starts_per_hour.toFixed(1)} start an hour`,
                    ),
                ),
              ),
            ),
            list.length > QUEUES && h('p.legend', {}, `and ${count(list.length - QUEUES)} more`),
            h(
              'p.legend',
              {},
              there.map(([name, color, hatch]) => swatch(name, color, hatch)),
            ),
          ]
        : empty('No job is known', 'Its jobs are counted from the moment that they are assigned.'),
    );
  }

  commands({ commands = [], now }) {
    if (!commands.length) return null;
    const list = commands.slice().sort((a, b) => b.at - a.at);
    return card(
      {
        title: 'Rules that acted on its jobs',
        sub: plural(list.length, 'command'),
        more: ['all', `#decisions${query({ kind: 'command', task: this.name })}`],
      },
      h(
        'ul.bars',
        {},
        list
          .slice(0, 4)
          .map((it) =>
            h(
              'li',
              {},
              h(
                'span.line',
                {},
                h(
                  'span.say',
                  {},
                  `${it.rule}: ${plural(it.jobs, 'job')}`,
                  it.queue && [' at ', queueLink(it.queue)],
                ),
                h('span.r', {}, moment(it.at, now)),
              ),
              it.measured !== null &&
                h(
                  'span.tiny.soft',
                  {},
                  amount(it.measured, it.unit) +
                    (it.limit === null ? '' : `, limit ${amount(it.limit, it.unit)}`),
                ),
            ),
          ),
      ),
    );
  }

  /** Why each decision: a request is picked, and its newest answer is shown. */
  decisions() {
    const list = this.data.explain?.decisions ?? [];
    if (!list.length) return null;
    const picked =
      list.find((it) => it.subject === this.picked || it.id === this.picked) ?? list[0];
    const chips = list.slice(0, 12).map((it) =>
      h(
        'button.chip',
        {
          type: 'button',
          'data-key': it.id,
          'aria-pressed': String(it === picked),
          onclick: () => this.pick(it.id),
        },
        icon(it.outcome === 'assign' ? 'fine' : 'waiting'),
        h('b', {}, it.subject),
        it.outcome === 'assign'
          ? `assigned ${when(it.at, this.now)}`
          : `${it.outcome === 'reject' ? 'rejected' : 'waits'}, answer ${it.ordinal}`,
      ),
    );
    return h(
      'section.stack',
      { 'aria-label': 'Why each decision', 'data-key': 'why' },
      h(
        'div.lead',
        {},
        h('h2.outcome', {}, 'Why each decision'),
        h(
          'div.chips',
          { role: 'group', 'aria-label': 'Requests' },
          chips,
          list.length > 12 &&
            h('a', { href: why(this.name, { kind: 'task' }) }, `${count(list.length - 12)} more`),
        ),
      ),
      later(picked.id, () => h('div', {}, decisionView(picked, this.now))),
    );
  }

  pick(id) {
    this.picked = id;
    this.write();
  }
}
