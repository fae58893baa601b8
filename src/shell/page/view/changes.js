// Changes: facts, limits, policies, the lead, throttles and statuses that changed since a moment.

import { card, empty, lead, part } from '../part/card.js';
import { h, query } from '../part/dom.js';
import { clock, count, plural, utc } from '../part/format.js';
import { Live } from '../part/live.js';
import { hrefOf, isPool, known, whyLink } from '../part/words.js';

const HOUR = 3600000;
const SPANS = [
  ['1 h', HOUR],
  ['6 h', 6 * HOUR],
  ['24 h', 24 * HOUR],
  ['3 d', 72 * HOUR],
  ['7 d', 168 * HOUR],
];
const KINDS = {
  status: 'statuses',
  fact: 'facts',
  limit: 'limits',
  policy: 'policies',
  lead: 'the lead',
  throttle: 'throttles',
};
/** So many of a day are shown at first. */
const MOST = 300;

export class Changes extends Live {
  constructor(main, place) {
    super(main, place, {
      changes: {
        path: 'changes',
        every: 10000,
        when: () => this.process,
        params: () => ({
          from: Math.max(0, this.now - this.span),
          kind: this.kind,
          name: this.about,
        }),
      },
    });
    const { since = '24 h', kind = '', name = '' } = place.params;
    Object.assign(this, { kind, about: name, since });
  }

  get span() {
    return (SPANS.find(([name]) => name === this.since) ?? SPANS[2])[1];
  }

  choose(change) {
    Object.assign(this, change);
    this.replace(
      `#changes${query({ since: this.since === '24 h' ? '' : this.since, kind: this.kind, name: this.about })}`,
    );
    this.sources.again('changes');
    this.kick();
    this.write();
  }

  draw() {
    const answer = this.data.changes;
    const all = answer?.changes ?? [];
    return [
      lead({
        title: 'Changes',
        says: answer
          ? [
              h('b', {}, `${plural(all.length, 'change')} in ${this.since}`),
              '. ',
              this.reach(answer),
            ]
          : '',
      }),
      h(
        'div.chips.slide.controls',
        { role: 'group', 'aria-label': 'Which changes', 'data-key': 'chips' },
        SPANS.map(([name]) =>
          this.chip(name === this.since, name, () => this.choose({ since: name })),
        ),
        h('span.apart', { 'aria-hidden': 'true' }),
        this.chip(!this.kind, 'all kinds', () => this.choose({ kind: '' })),
        Object.entries(KINDS).map(([kind, name]) =>
          this.chip(this.kind === kind, name, () => this.choose({ kind })),
        ),
        this.about &&
          h(
            'button.chip',
            {
              type: 'button',
              'aria-pressed': 'true',
              'aria-label': `Remove filter name ${this.about}`,
              onclick: () => this.choose({ about: '' }),
            },
            this.about,
            ' ×',
          ),
      ),
      part(this, 'changes', 'what changed', () => this.days(all)),
    ];
  }

  chip(isOn, text, onclick) {
    return h(
      'button.chip',
      { type: 'button', 'data-key': text, 'aria-pressed': String(isOn), onclick },
      text,
    );
  }

  reach({ complete, since, more }) {
    if (more)
      return 'There are more, of which these are the newest; a shorter span or a kind shows them.';
    return complete === false
      ? `The history does not have all of it${since ? `: it begins at ${utc(since)} UTC, or has a gap` : ' yet'}; the log goes further back (yardmaster changes --from).`
      : '';
  }

  days(all) {
    if (!all.length)
      return card(
        { label: 'Changes', key: 'none' },
        empty(
          'Nothing changed',
          'A changed fact, limit, policy, lead, throttle or status of a queue is listed here.',
        ),
      );
    const days = new Map();
    for (const it of all.slice(0, MOST)) {
      const day = utc(it.at).slice(0, 10);
      if (!days.has(day)) days.set(day, []);
      days.get(day).push(it);
    }
    return [
      [...days].map(([day, list]) =>
        card(
          { title: day, sub: plural(list.length, 'change') },
          h(
            'ul.acts.changes',
            {},
            list.map((it) => this.row(it)),
          ),
        ),
      ),
      all.length > MOST &&
        h(
          'p.note',
          {},
          `${count(all.length - MOST)} older ones are not shown; a shorter span or a kind shows them.`,
        ),
    ];
  }

  row(it) {
    const isNamed = Boolean(it.field);
    return h(
      'li',
      { 'data-key': `${it.at} ${it.kind} ${it.subject} ${it.field}` },
      h('span.at', {}, time(it.at)),
      h('span.kind', {}, it.kind),
      h(
        'div.body',
        {},
        it.of && h('span.soft', {}, `${it.of.replaceAll('_', ' ')} `),
        subject(it),
        isNamed && h('span.soft', {}, ` ${it.field.replaceAll('_', ' ')} `),
        isNamed && values(it),
        !isNamed && ` ${rest(it)}`,
      ),
    );
  }
}

/** A text without the subject that stands before it. */
function rest({ of, subject: name, text = '' }) {
  const head = [of, name].filter(Boolean).join(' ');
  return text.startsWith(head) ? text.slice(head.length).trim() : text;
}

const time = (at) =>
  h('time', { datetime: `${utc(at).replace(' ', 'T')}Z`, title: `${utc(at)} UTC` }, clock(at));

/** A field before and after; one that was not there is new. */
function values({ before, after }) {
  const isSet = (value) => value !== null && value !== undefined && value !== '';
  return [
    isSet(before) ? h('span.before', {}, before) : h('span.soft', {}, 'not set'),
    h('span.soft', {}, ' → '),
    isSet(after) ? h('b', {}, after) : h('span.soft', {}, 'not set'),
  ];
}

function subject({ kind, of, subject: name }) {
  if (!name) return null;
  if (of === 'queue' || known.queues.has(name) || (!of && kind === 'status'))
    return h('a', { href: hrefOf(isPool() ? 'site' : 'queue', name) }, name);
  if (known.sites.has(name)) return h('a', { href: hrefOf('site', name) }, name);
  if (of === 'share') return h('a', { href: hrefOf('share', name) }, name);
  return kind === 'throttle' ? whyLink(name) : h('b', {}, name);
}
