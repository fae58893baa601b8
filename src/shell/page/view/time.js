// Time: queues, counters and reasons as of a past moment, within what the process keeps.

import { ask } from '../part/ask.js';
import { card, lead } from '../part/card.js';
import { fill, h, query, setText } from '../part/dom.js';
import { count, figure, moment, span, utc } from '../part/format.js';
import { Tiles, totals } from '../part/tiles.js';
import { table } from '../part/table.js';
import { why, words } from '../part/words.js';

const KINDS = ['queue', 'user', 'group', 'share', 'load', 'nucleus', 'task', 'link'];
/** Steps of the buttons, ms. */
const STEPS = [
  [-3600000, '−1 h'],
  [-600000, '−10 min'],
  [-60000, '−1 min'],
  [60000, '+1 min'],
  [600000, '+10 min'],
  [3600000, '+1 h'],
];
/** What counters are compared with: text, ms before the moment. */
const AGAINST = [
  ['nothing', 0],
  ['1 h before', 3600000],
  ['6 h before', 21600000],
  ['1 day before', 86400000],
];
/** A moment as the process reads it. */
function stamp(ms) {
  return `${utc(ms).replace(' ', 'T')}Z`;
}

/** What a field or an address holds, as ms; NaN if it is no moment. */
function parse(text) {
  if (/^\d{12,}$/.test(text)) return Number(text);
  return Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text.trim().replace(' ', 'T')}Z`);
}

export class Time {
  constructor(main, { params, replace, kick }) {
    Object.assign(this, { replace, kick, history: null, asked: '' });
    this.at = params.at ? parse(params.at) : NaN;
    this.moment = h('input', {
      type: 'datetime-local',
      step: '1',
      id: 'moment',
      onchange: () => this.go(parse(this.moment.value)),
    });
    this.slider = h('input', {
      type: 'range',
      'aria-label': 'Moment within the history',
      disabled: true,
      oninput: () => this.preview(),
      onchange: () => this.go(Number(this.slider.value)),
    });
    this.gaps = h('div.gaps', { 'aria-hidden': 'true' });
    this.extent = h('p.note', {}, 'The history is being asked for.');
    this.steps = STEPS.map(([step, text]) =>
      h('button.btn', { type: 'button', onclick: () => this.go(this.at + step) }, text),
    );
    this.outside = h('div', { role: 'status' });
    this.total = h('p.total');
    this.tiles = new Tiles();
    this.by = h(
      'select',
      { 'aria-label': 'Kind of counter', onchange: () => this.change() },
      KINDS.map((kind) => h('option', { selected: kind === (params.by ?? 'queue') }, kind)),
    );
    this.against = h(
      'select',
      { 'aria-label': 'Compared with', onchange: () => this.change() },
      AGAINST.map(([text, ms]) =>
        h('option', { value: String(ms), selected: String(ms) === params.against }, text),
      ),
    );
    this.named = h('input', {
      type: 'search',
      value: params.name ?? '',
      placeholder: 'a name, exactly',
      list: 'names',
      'aria-label': 'Only counters that carry this name',
      onchange: () => this.change(),
    });
    this.counters = h('div');
    this.explained = h('input', {
      type: 'search',
      size: '36',
      placeholder: 'task, job, user, group, queue, share',
      'aria-label': 'What is explained as of the moment',
    });
    this.past = h('div.stack', {}, this.body());
    fill(
      main,
      lead({
        title: 'Time',
        says: 'Queues, counters and reasons as of a past moment, within what the process keeps.',
      }),
      h('section.card', { 'aria-label': 'Moment' }, this.controls()),
      this.outside,
      this.past,
    );
  }

  controls() {
    return h(
      'form.controls.when',
      {
        'aria-label': 'Moment',
        onsubmit: (event) => {
          event.preventDefault();
          this.go(parse(this.moment.value));
        },
      },
      h('label', {}, 'Moment (UTC) ', this.moment),
      this.steps,
      h(
        'button.btn',
        { type: 'button', onclick: () => this.go(this.history?.to ?? NaN) },
        'Latest',
      ),
      h('div.slide-box', {}, this.slider, this.gaps),
      this.extent,
    );
  }

  body() {
    const explain = (event) => {
      event.preventDefault();
      const name = this.explained.value.trim();
      if (name) location.hash = why(name, { at: stamp(this.at) });
    };
    const counters = h(
      'form.controls',
      {
        onsubmit: (event) => {
          event.preventDefault();
          this.change();
        },
      },
      h('label', {}, 'by ', this.by),
      h('label', {}, 'compared with ', this.against),
      this.named,
    );
    this.shown = card(
      { title: `${words().places} as of then`, key: 'places' },
      h('p.controls', {}, this.total),
      h('div.pad', {}, this.tiles.list),
    );
    return [
      card(
        { title: 'Why, as of then' },
        h('form.controls', { onsubmit: explain }, this.explained, h('button.btn', {}, 'Why?')),
      ),
      card({ title: 'Counters as of then' }, counters, this.counters),
      this.shown,
    ];
  }

  /** What the header asked for comes here too, each second. */
  status({ history, now }) {
    const before = this.history;
    this.history = history;
    this.now = now;
    if (!history || history.from === null) {
      setText(
        this.extent,
        'No history is kept yet: the first snapshot is written some time after the start. ' +
          'What is older is in the ' +
          'log: yardmaster counters --at, yardmaster explain --at.',
      );
      return;
    }
    if (
      before &&
      before.from === history.from &&
      before.to === history.to &&
      JSON.stringify(before.gaps) === JSON.stringify(history.gaps)
    )
      return;
    const { from, to, gaps = [] } = history;
    Object.assign(this.slider, { min: from, max: to, step: 1000, disabled: to <= from });
    if (Number.isNaN(this.at)) this.at = to;
    this.place();
    const every = history.interval_s ? `, a snapshot every ${count(history.interval_s)} s` : '';
    const list = gaps.length
      ? ` Gaps: ${gaps
          .slice(0, 5)
          .map((gap) => `${utc(gap.from)} to ${utc(gap.to)}`)
          .join('; ')}` + `${gaps.length > 5 ? ` and ${gaps.length - 5} more` : ''}.`
      : '';
    setText(
      this.extent,
      `History from ${utc(from)} to ${utc(to)} UTC (${span(to - from)})${every}.${list}`,
    );
    const width = Math.max(1, to - from);
    fill(
      this.gaps,
      gaps.map((gap) =>
        h('span', {
          title: `no snapshot from ${utc(gap.from)} to ${utc(gap.to)}`,
          style: {
            left: `${(100 * (gap.from - from)) / width}%`,
            width: `${Math.max(0.3, (100 * (gap.to - gap.from)) / width)}%`,
          },
        }),
      ),
    );
  }

  place() {
    if (document.activeElement !== this.moment) this.moment.value = utc(this.at).replace(' ', 'T');
    if (document.activeElement !== this.slider || Number(this.slider.value) !== this.at)
      this.slider.value = this.at;
    this.slider.setAttribute('aria-valuetext', `${utc(this.at)} UTC`);
  }

  preview() {
    this.moment.value = utc(Number(this.slider.value)).replace(' ', 'T');
    this.slider.setAttribute('aria-valuetext', `${utc(Number(this.slider.value))} UTC`);
  }

  go(at) {
    if (Number.isNaN(at)) return;
    this.at = at;
    this.place();
    this.moment.value = utc(at).replace(' ', 'T');
    this.change();
  }

  change() {
    this.replace(
      `#time${query({
        at: Number.isNaN(this.at) ? '' : stamp(this.at),
        by: this.by.value === 'queue' ? '' : this.by.value,
        name: this.named.value.trim(),
        against: this.against.value === '0' ? '' : this.against.value,
      })}`,
    );
    this.kick();
  }

  async tick(signal) {
    if (!this.history || Number.isNaN(this.at)) return;
    const by = this.by.value;
    const name = this.named.value.trim();
    const before = Number(this.against.value);
    const asked = JSON.stringify([this.at, by, name, before]);
    if (asked === this.asked) return;
    this.asked = asked;
    try {
      const at = stamp(this.at);
      const [{ queues }, { counters, now }] = await Promise.all([
        ask('queues', { at }, signal),
        ask('counters', { by, name, at, against: before ? stamp(this.at - before) : '' }, signal),
      ]);
      this.show(queues, counters, now);
    } catch (error) {
      this.asked = '';
      if (!error.isFinal) throw error;
      this.asked = asked;
      this.refused(error);
    }
  }

  show(queues, counters, now) {
    this.past.hidden = false;
    fill(
      this.outside,
      h(
        'p.past',
        {},
        h(
          'span',
          {},
          'As of ',
          moment(now),
          ' UTC',
          this.at - now > 1000 && `, the last cycle at or before ${utc(this.at)}`,
        ),
      ),
    );
    this.tiles = new Tiles({ at: stamp(this.at) });
    fill(this.shown.lastChild, this.tiles.list);
    setText(this.shown.querySelector('h2'), `${words().places} as of then`);
    const shown = this.tiles.show(queues, {}, 'name', true);
    totals(this.total, shown, queues.length);
    if (!queues.length) this.tiles.empty('No queue was known then.');
    this.writeCounters(counters);
  }

  writeCounters(counters) {
    if (!counters.length) {
      const why = this.named.value
        ? 'No counter of that kind carries that name; names are compared exactly.'
        : 'There was nothing to count of that kind then.';
      fill(this.counters, h('p.empty', {}, why));
      return;
    }
    const kinds = [...new Set(counters.map((it) => it.counter))];
    const rows = (kind) => counters.filter((it) => it.counter === kind);
    fill(
      this.counters,
      kinds.map((kind) => counterTable(kind, rows(kind), kinds.length > 1)),
    );
  }

  refused(error) {
    this.past.hidden = true;
    const { from, to } = this.history;
    const at = stamp(this.at);
    const side = this.at < from ? 'before' : this.at > to ? 'after' : '';
    const kept = `the history that this process keeps (${stamp(from)} to ${stamp(to)})`;
    const where = from !== null && side ? `${at} lies ${side} ${kept}. ` : '';
    const what = error.remedy ? `${error.message}; ${error.remedy}.` : `${error.message}.`;
    fill(
      this.outside,
      h('p.past', {}, where, what),
      h('p.note', {}, 'The log goes further back. It is read by:'),
      h(
        'pre',
        { tabindex: '0' },
        `yardmaster counters --at ${at}\nyardmaster explain NAME --at ${at}`,
      ),
    );
  }
}

/** Counters of one kind: what they count first, then the figures. */
function counterTable(kind, rows, isNamed) {
  const isCompared = rows.some((row) => row.before);
  const figuresOf = (row) => ({ ...row, ...(row.before ?? {}) });
  const all = new Set(rows.flatMap((row) => Object.keys(figuresOf(row))));
  const keys = [...all].filter((key) => key !== 'counter' && key !== 'before');
  const isName = (key) => rows.some((row) => typeof row[key] === 'string');
  const names = keys.filter(isName);
  const columns = [...names, ...keys.filter((key) => !isName(key))].map((key) => ({
    name: key.replaceAll('_', ' ').replace(/ ms$/, ' (UTC)'),
    number: !isName(key),
    value: (row) => row[key],
    cell: (row) => [
      isMoment(key, row[key]) ? moment(row[key]) : figure(row[key] ?? (isCompared ? 0 : undefined)),
      isCompared && !isName(key) && difference(row, key),
    ],
  }));
  const shown = table({ label: 'Counters', columns, rows, most: 20 });
  return isNamed ? [h('h3.pad', {}, kind), shown] : shown;
}

/** How a figure differs from that of the other moment. */
function difference(row, key) {
  const [now, then] = [row[key] ?? 0, row.before?.[key] ?? 0];
  if (isMoment(key, now) || isMoment(key, then) || now === then) return null;
  return h('span.sub', {}, `${now > then ? '+' : '−'}${figure(Math.abs(now - then))}`);
}

function isMoment(key, value) {
  return /_(at|ms)$/.test(key) && value > 1e12;
}
