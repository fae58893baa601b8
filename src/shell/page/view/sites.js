// Sites, the most troubled first: which is broken, which rule saw it.

import { spark, twin } from '../part/chart.js';
import { card, empty, lead, missing, rankOf, rows, severity, status } from '../part/card.js';
import { h, later, query } from '../part/dom.js';
import { ago, count, percent, plural, size, when } from '../part/format.js';
import { curves } from '../part/groups.js';
import { Live } from '../part/live.js';
import { hrefOf, isGrid, isPool, linkTo, learn, mostOf, words } from '../part/words.js';

const DAY = 86400000;
const QUIET = (it) => !it.severity && !it.running && !it.queued;

/** The worst first, then by size. */
const compare = (a, b) =>
  rankOf(a.severity) - rankOf(b.severity) ||
  b.running + b.queued - a.running - a.queued ||
  (a.site < b.site ? -1 : 1);

export class Sites extends Live {
  constructor(main, place) {
    super(main, place, {
      sites: { path: 'sites', every: 5000 },
      queues: { path: 'queues', every: 5000, slow: true },
      lines: {
        path: 'series',
        every: 60000,
        slow: true,
        when: () => this.process,
        params: () => ({ of: 'site', what: 'running', from: Math.max(0, this.now - DAY) }),
      },
    });
    this.group = place.params.group ?? '';
    this.text = place.params.q ?? '';
  }

  choose(change) {
    Object.assign(this, change);
    this.replace(`#sites${query({ group: this.group, q: this.text })}`);
    this.write();
  }

  draw() {
    const answer = this.data.sites;
    if (this.data.queues) learn(this.data.queues);
    if (!answer) {
      const error = this.errors.sites;
      return [
        lead({ title: 'Sites' }),
        card(
          { label: 'Sites' },
          error
            ? missing(error, 'which site is in trouble')
            : h('p.empty', { role: 'status' }, 'The sites are being asked for.'),
        ),
      ];
    }
    const all = this.steady('sites', answer.sites, (it) => it.site, compare, 'table');
    const bad = all.filter((it) => rankOf(it.severity) < 2).length;
    const shown = all.filter(
      (it) =>
        (!this.group || it.group === this.group) &&
        it.site.toLowerCase().includes(this.text.toLowerCase()),
    );
    const loud = shown.filter((it) => !QUIET(it));
    const quiet = shown.filter(QUIET);
    const table = (list, label) =>
      rows({ label, rows: list, keyOf: (it) => it.site, columns: this.columns(all) });
    const names = quiet
      .slice(0, 4)
      .map((it) => it.site)
      .join(', ');
    return [
      lead({
        title: 'Sites',
        says: [
          h(
            'b',
            {},
            `${count(bad)} of ${plural(all.length, 'site')} ${bad === 1 ? 'is' : 'are'} in trouble. `,
          ),
          this.statuses(),
        ],
      }),
      this.chips(all),
      card(
        {
          title: plural(loud.length, 'site'),
          key: 'sites',
          sub: 'act now, then watch, then by size',
        },
        loud.length
          ? table(loud, 'Sites')
          : empty(
              'No site matches',
              all.length
                ? 'Take a filter away to see all.'
                : 'A site is listed once a record names it.',
            ),
        quiet.length > 0 &&
          h(
            'details.rest',
            {},
            h(
              'summary',
              {},
              `${plural(quiet.length, 'quiet site')} without jobs: ${names}${quiet.length > 4 ? ' …' : ''}`,
            ),
            later(`quiet ${quiet.length} ${this.sources.versions.sites}`, () =>
              table(quiet, 'Quiet sites'),
            ),
          ),
      ),
    ];
  }

  statuses() {
    const queues = this.data.queues?.queues ?? [];
    if (!queues.length) return '';
    const online = queues.filter((it) => ['online', 'active'].includes(it.status)).length;
    return `${count(online)} of ${plural(queues.length, words().place)} ${online === 1 ? 'is' : 'are'} in service.`;
  }

  chips(all) {
    const groups = new Map();
    for (const { group } of all) if (group) groups.set(group, (groups.get(group) ?? 0) + 1);
    const chip = (group, text, n) =>
      h(
        'button.chip',
        {
          type: 'button',
          'data-key': `g ${group}`,
          'aria-pressed': String(group === this.group),
          onclick: () => this.choose({ group }),
        },
        text,
        h('span.soft', {}, count(n)),
      );
    return h(
      'div.chips.slide.controls',
      { role: 'group', 'aria-label': 'Which sites', 'data-key': 'chips' },
      chip('', 'All', all.length),
      groups.size > 1 &&
        groups.size <= 40 &&
        [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, n]) => chip(group, group, n)),
      h('input', {
        type: 'search',
        'data-key': 'q',
        placeholder: 'part of a name',
        'aria-label': 'Sites with this in their name',
        value: this.text,
        oninput: (event) => this.choose({ text: event.target.value.trim() }),
      }),
    );
  }

  columns(all) {
    const max = Math.max(...all.map((it) => it.running + it.queued), 1);
    const lines = curves(this.data.lines);
    const { now } = this;
    const queues = this.data.queues?.queues ?? [];
    const kinds = statusesBySite(queues);
    const byName = new Map(queues.map((it) => [it.queue, it]));
    const columns = [
      {
        name: 'Site',
        kind: 'c1',
        cell: (it) =>
          h(
            'span.who',
            {},
            severity(
              it.severity ?? (QUIET(it) ? 'idle' : 'fine'),
              it.severity ? undefined : 'well',
            ),
            h('span', {}, h('b', {}, linkTo('site', it.site)), h('span.sub', {}, it.group)),
          ),
      },
      { name: 'Trouble', cell: (it) => trouble(it, now) },
      {
        name: 'Jobs',
        kind: 'c2 jobs',
        cell: (it) => (isPool() ? cores(it, byName.get(it.site)) : jobs(it, max)),
      },
      isPool() && {
        name: 'Free cores',
        number: true,
        short: 'free cores',
        cell: (it) => free(byName.get(it.site), now),
      },
      isGrid() && {
        name: 'Free CPUs',
        number: true,
        short: 'free CPUs',
        cell: (it) => freeAt(queues.filter((queue) => queue.site === it.site)),
      },
      {
        name: 'Running, 24 h',
        kind: 'drop curve',
        cell: (it) =>
          later(`${it.site} ${this.sources.versions.lines ?? 0}`, () =>
            spark(lines.get(it.site), { height: 24, label: `${it.site} running` }),
          ),
      },
      {
        name: 'Failed, 3 h',
        number: true,
        short: 'failed',
        cell: (it) =>
          it.ended_3h
            ? [
                percent(it.failed_3h / it.ended_3h, 0),
                h('span.sub', {}, `${count(it.failed_3h)} of ${count(it.ended_3h)}`),
              ]
            : '–',
      },
      {
        name: 'Last start',
        number: true,
        kind: 'drop',
        cell: (it) => ago(it.last_start_at, now).replace(' ago', ''),
      },
      {
        name: isPool() ? 'Status' : words().places,
        kind: 'drop',
        cell: (it) =>
          h(
            'span.kinds',
            {},
            [...(kinds.get(it.site) ?? [])].map(([name, n]) =>
              h('span.nowrap', {}, isPool() ? '' : `${n} `, status(name)),
            ),
          ),
      },
    ];
    return columns.filter(Boolean);
  }
}

const jobs = (it, max) => [
  h(
    'span.line',
    {},
    h('b', {}, count(it.running)),
    h('span.soft', {}, ` run · ${count(it.queued)} wait`),
  ),
  h(
    'span.drop',
    {},
    twin(it.running, it.queued, max, `${it.running} running, ${it.queued} waiting`),
  ),
];

/** Of a pool's site: what is left of its live offers, and how old the last one is. */
const free = (row, now) =>
  row
    ? [
        h('b', {}, count(row.free_cores)),
        h(
          'span.sub',
          {},
          row.offers ? `in ${plural(row.offers, 'offer')}` : 'no offer',
          row.last_offer_at && `, last ${ago(row.last_offer_at, now)}`,
        ),
      ]
    : '–';

/** Of a cluster: free CPUs, disk and cache, which its queues share. */
function freeAt(queues) {
  const most = (key) => mostOf(queues, key);
  return [
    h('b', {}, count(most('free_cores'))),
    h(
      'span.sub',
      {},
      `disk ${size(most('disk_free_bytes'))}, cache ${size(most('cache_free_bytes'))}`,
    ),
  ];
}

/** Of a pool's site: cores against the pledge; without these while they are being asked for. */
function cores(it, row) {
  const run = h('b', {}, count(it.running));
  if (!row) return h('span.line', {}, run, h('span.soft', {}, ' run'));
  const used = row.running_cores ?? 0;
  const pledged = row.pledged_cores ?? 0;
  return [
    h(
      'span.line',
      {},
      run,
      h('span.soft', {}, ` run on ${count(used)}${pledged ? ` of ${count(pledged)}` : ''} cores`),
    ),
    pledged > 0 &&
      h(
        'span.drop',
        {},
        twin(
          used,
          Math.max(0, pledged - used),
          Math.max(used, pledged),
          `${used} of ${pledged} cores used`,
        ),
      ),
  ];
}

function trouble(it, now) {
  if (!it.troubles?.length) return h('span.soft', {}, QUIET(it) ? 'no jobs' : 'as usual');
  return [
    it.troubles
      .slice(0, 3)
      .map((one) =>
        h(
          'span.trouble-line',
          {},
          one.queue && one.queue !== it.site
            ? h('a', { href: hrefOf(isPool() ? 'site' : 'queue', one.queue) }, one.queue)
            : null,
          one.queue && one.queue !== it.site ? ': ' : '',
          one.text || one.title,
          one.since && h('span.soft', {}, ` Since ${when(one.since, now)}.`),
        ),
      ),
    it.troubles.length > 3 && h('span.sub', {}, `and ${it.troubles.length - 3} more`),
    it.held_back > 0 && h('span.sub', {}, `${plural(it.held_back, 'command')} held back`),
  ];
}

/** How many queues of each site have which status. */
function statusesBySite(queues) {
  const sites = new Map();
  for (const { site, queue, status: name } of queues) {
    const key = site || queue;
    if (!sites.has(key)) sites.set(key, new Map());
    sites.get(key).set(name, (sites.get(key).get(name) ?? 0) + 1);
  }
  return sites;
}
