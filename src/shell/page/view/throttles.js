// Throttles in force: which subject, by which rule, how far above its limit, until when.

import { bar } from '../part/chart.js';
import { card, empty, lead, part, pill, rows } from '../part/card.js';
import { h } from '../part/dom.js';
import { count, moment, plural, span } from '../part/format.js';
import { Live } from '../part/live.js';
import { linkTo } from '../part/words.js';

export class Throttles extends Live {
  constructor(main, place) {
    super(main, place, { throttles: { path: 'throttles', every: 3000 } });
  }

  draw() {
    const all = this.data.throttles?.throttles ?? [];
    const dry = all.filter((it) => it.dry_run).length;
    const says = all.length && [
      h('b', {}, `${plural(all.length, 'throttle')} in force`),
      dry > 0 && `, ${count(dry)} of them by a dry run, which keeps nothing back`,
      '.',
    ];
    return [
      lead({ title: 'Throttles', says: says || '' }),
      card(
        {
          title: 'In force',
          sub: 'a bar is what was measured; the mark is the limit',
          more: ['set and lifted', '#decisions?kind=throttle'],
        },
        part(this, 'throttles', 'who is throttled', ({ throttles }) =>
          throttles.length
            ? rows({
                label: 'Throttles in force',
                rows: throttles,
                keyOf: (it) => `${it.rule} ${it.kind} ${it.subject}`,
                columns: this.columns(),
              })
            : empty(
                'Nobody is throttled',
                'Users, groups and tasks above a cap are listed here, with until when and what lifts it.',
              ),
        ),
      ),
    ];
  }

  columns() {
    const { now } = this;
    return [
      {
        name: 'Subject',
        kind: 'c1',
        cell: (it) => [
          h('b', {}, linkTo(it.kind, it.subject)),
          h('span.sub', {}, it.kind),
          it.dry_run && pill('watch', 'dry run'),
        ],
      },
      {
        name: 'Rule',
        cell: (it) => [
          it.help || it.rule,
          h('span.sub', {}, [it.rule, it.spec, it.policy].filter(Boolean).join(', ')),
        ],
      },
      {
        name: 'Measured',
        kind: 'wide',
        cell: (it) => [
          h(
            'span.line',
            {},
            h('b', {}, count(it.measured)),
            h('span.soft', {}, ` of at most ${count(it.limit)} ${it.unit ?? ''}`),
          ),
          bar(
            [{ value: it.measured, color: 'var(--watch)', name: 'measured' }],
            Math.max(it.measured, it.limit) * 1.1 || 1,
            { tick: it.limit, label: `measured ${count(it.measured)}, limit ${count(it.limit)}` },
          ),
        ],
      },
      {
        name: 'Lifted',
        cell: (it) => [
          it.lifted_when,
          it.lift_from && h('span.sub', {}, 'not before ', moment(it.lift_from, now), ' UTC'),
        ],
      },
      {
        name: 'Since',
        number: true,
        kind: 'drop',
        cell: (it) => [span(now - it.since), h('span.sub', {}, moment(it.since, now))],
      },
      {
        name: 'Until',
        number: true,
        kind: 'c2',
        cell: (it) => (it.until ? moment(it.until, now) : '–'),
      },
    ];
  }
}
