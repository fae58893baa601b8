// More: the state of the process in full, the views that a phone's bar leaves out, keys.

import { card, empty, facts, lead, severity } from '../part/card.js';
import { h, icon, morph } from '../part/dom.js';
import { ago, count, moment, percent, plural, span } from '../part/format.js';
import { SELDOM, troublesOf } from '../part/frame.js';
import { words } from '../part/words.js';

const KEYS = [
  ['Tab', 'reaches everything; the first one of a page offers the way past the rail'],
  ['/', 'leads to the search, Escape from there to the content'],
  ['Arrows, Home, End', 'lead from tile to tile, and read values of a curve that has the focus'],
  ['Enter on a column', 'sorts by it'],
];

export class More {
  constructor(main) {
    this.main = main;
    morph(main, lead({ title: 'More' }));
  }

  status(process) {
    this.process = process;
    morph(this.main, this.draw());
  }

  tick() {}

  draw() {
    const it = this.process;
    const troubles = troublesOf(it);
    const others = (it.domains ?? []).filter((one) => one.domain !== it.domain);
    return [
      lead({ title: 'More', says: 'The state of this process, the other views, and keys.' }),
      facts([
        [
          'Role',
          it.leading ? 'leads' : 'stands by',
          it.ready ? 'ready' : (it.reason ?? 'not ready'),
        ],
        ['Cycle', count(it.cycle), `epoch ${it.epoch}`],
        ['Now', moment(it.now, it.now), 'UTC, time of the last cycle'],
        ['Open', it.requests_open === null ? '–' : count(it.requests_open), words().open],
        ['Version', it.version ?? '–', it.domain],
        it.history?.from && [
          'History',
          span(it.history.to - it.history.from),
          this.gaps(it.history),
        ],
      ]),
      card(
        { title: 'Troubles of the process', sub: troubles.length ? count(troubles.length) : null },
        troubles.length
          ? h(
              'ul.acts',
              {},
              troubles.map((one) =>
                h(
                  'li',
                  { 'data-key': `${one.rule} ${one.text}` },
                  h(
                    'span.at',
                    {},
                    one.since ? ago(one.since, Date.now()) : one.rule?.replaceAll('_', ' '),
                  ),
                  severity(one.severity),
                  h('div.body', {}, one.text),
                ),
              ),
            )
          : empty(
              'None',
              it.ready
                ? 'It is ready, its inputs are fresh, and no lane is stuck.'
                : `It is not ready: ${it.reason}.`,
            ),
      ),
      it.state?.restoring &&
        h(
          'p.note',
          {},
          `Restoring: ${percent(it.state.restored_ratio, 0)} of the cycles are replayed.`,
        ),
      card(
        { title: 'Views' },
        h(
          'ul.bars',
          {},
          SELDOM.map(([name, title]) =>
            h('li', {}, h('a', { href: `#${name}` }, icon(name), ` ${title}`)),
          ),
        ),
      ),
      others.length > 0 &&
        card(
          { title: 'Other domains of the process' },
          h(
            'ul.bars',
            {},
            others.map((one) =>
              h(
                'li',
                {},
                h(
                  'span.line',
                  {},
                  h('a', { href: `?domain=${encodeURIComponent(one.domain)}` }, one.domain),
                  h('span.r', {}, one.ready ? 'ready' : 'not ready'),
                ),
              ),
            ),
          ),
        ),
      card(
        { title: 'Keys' },
        h(
          'ul.bars',
          {},
          KEYS.map(([key, text]) =>
            h('li', {}, h('span.line', {}, h('b', {}, key), h('span.soft', {}, text))),
          ),
        ),
      ),
    ];
  }

  gaps({ gaps = [], interval_s: every }) {
    const kept = every ? `a snapshot every ${count(every)} s` : 'kept';
    return gaps.length ? `${kept}, ${plural(gaps.length, 'gap')}` : kept;
  }
}
