// Waiting: what waits now, by reason, age, share and user; since when, and whether waiting helps.

import { bar } from '../part/chart.js';
import { card, empty, lead, missing } from '../part/card.js';
import { h, icon, query } from '../part/dom.js';
import { count, plural, short, span } from '../part/format.js';
import { Live } from '../part/live.js';
import { waitsTable } from '../part/waits.js';
import { isPool, words } from '../part/words.js';

const HOUR = 3600000;
/** Ages by the hour: name, from, to. */
const AGES = [
  ['< 1 h', 0, 1],
  ['1–3 h', 1, 3],
  ['3–6 h', 3, 6],
  ['6–12 h', 6, 12],
  ['12–24 h', 12, 24],
  ['> 24 h', 24, Infinity],
];
/** From this age on a request is late; hours. */
const LATE = 12;
/** Rows of a reason that are shown before it is chosen, and after. */
const FEW = 5;
const MANY = 100;

const sum = (list, of) => list.reduce((total, it) => total + (of(it) ?? 0), 0);
const ownerOf = {
  share: (it) => it.gshare,
  user: (it) => it.user,
  task: (it) => it.task,
  queue: (it) => it.nearest?.queue,
};

export class Waiting extends Live {
  constructor(main, place) {
    super(main, place, {
      waiting: {
        path: 'waiting',
        every: 5000,
        params: () => ({ task: this.chosen.task, queue: this.chosen.queue }),
      },
    });
    const { reason = '', share = '', user = '', age = '', task = '', queue = '' } = place.params;
    this.chosen = { reason, share, user, age, task, queue };
    this.isWide = innerWidth > 760;
  }

  pick(key, value) {
    this.chosen[key] = this.chosen[key] === value ? '' : value;
    this.replace(`#waiting${query(this.chosen)}`);
    if (key === 'task' || key === 'queue') {
      this.sources.again('waiting');
      this.kick();
    }
    this.write();
  }

  /** Whether a request is shown, by all that is chosen but one. */
  fits(it, but = '') {
    const { reason, share, user, age } = this.chosen;
    if (but !== 'reason' && reason && it.reason !== reason) return false;
    if (but !== 'share' && share && it.gshare !== share) return false;
    if (but !== 'user' && user && it.user !== user) return false;
    return (
      but === 'age' ||
      !age ||
      this.isOfAge(
        it,
        AGES.find(([name]) => name === age),
      )
    );
  }

  isOfAge({ asked_at: at }, age) {
    const hours = at ? Math.max(0, (this.data.waiting.now - at) / HOUR) : 0;
    return !age || (hours >= age[1] && hours < age[2]);
  }

  draw() {
    const answer = this.data.waiting;
    if (!answer) {
      const error = this.errors.waiting;
      return [
        lead({ title: 'Waiting' }),
        card(
          { label: 'Waiting' },
          error
            ? missing(error, 'what waits')
            : h('p.empty', { role: 'status' }, 'What waits is being asked for.'),
        ),
      ];
    }
    this.titles = new Map(answer.by_reason.map((it) => [it.reason, it]));
    const shown = answer.requests.filter((it) => this.fits(it));
    return [
      lead({ title: 'Waiting', says: this.sentence(answer, shown) }),
      this.chips(),
      answer.requests.length
        ? h(
            'div.cols.left',
            { 'data-key': 'cols' },
            h(
              'details.filters',
              { open: this.isWide },
              h('summary', {}, 'Filter by reason, share, user'),
              this.facets(),
            ),
            h('div.stack', {}, this.ages(), this.list(shown)),
          )
        : card(
            { label: 'Waiting', key: 'none' },
            empty(
              'Nothing waits',
              `Every ${words().request} has its answer. One that gets none at once is listed here, with why and since when.`,
            ),
          ),
    ];
  }

  sentence({ open, looked_at: looked, now, requests }, shown) {
    if (!requests.length) return '';
    const { request } = words();
    const jobs = sum(shown, (it) => it.jobs);
    const oldest = now - Math.min(...shown.map((it) => it.asked_at ?? now));
    const stuck = shown.filter((it) => it.helps === 'configuration').length;
    return [
      h(
        'b',
        {},
        `${plural(shown.length, request)} for ${plural(jobs, 'job')} ${shown.length === 1 ? 'waits' : 'wait'}`,
      ),
      shown.length > 0 && `, the oldest for ${span(oldest)}`,
      '. ',
      stuck > 0 &&
        `${count(stuck)} of them need another configuration; waiting alone does not help. `,
      open > requests.length &&
        `${count(open)} are open; the ${count(requests.length)} oldest are listed. `,
      looked !== undefined &&
        looked < open &&
        `Reasons are those of ${count(looked)} that were looked at.`,
    ];
  }

  /** What is chosen, each with the way to take it away. */
  chips() {
    const on = Object.entries(this.chosen).filter(([, value]) => value);
    if (!on.length) return null;
    const name = (key, value) =>
      key === 'reason' ? (this.titles.get(value)?.title ?? value) : value;
    return h(
      'div.chips',
      { 'data-key': 'chips' },
      on.map(([key, value]) =>
        h(
          'button.chip',
          {
            type: 'button',
            'aria-pressed': 'true',
            'data-key': key,
            title: 'Remove this filter',
            onclick: () => this.pick(key, value),
          },
          h('span.soft', {}, key),
          ' ',
          name(key, value),
          ' ×',
        ),
      ),
    );
  }

  facets() {
    const facet = (title, key, most = 8) => {
      const groups = new Map();
      for (const it of this.data.waiting.requests.filter((one) => this.fits(one, key))) {
        const value = key === 'reason' ? it.reason : ownerOf[key](it);
        if (!groups.has(value)) groups.set(value, []);
        groups.get(value).push(it);
      }
      const rows = [...groups]
        .filter(([value]) => value)
        .sort(([, a], [, b]) => b.length - a.length)
        .slice(0, most);
      if (!rows.length) return null;
      const max = rows[0][1].length;
      return card(
        { title },
        h(
          'div',
          {},
          rows.map(([value, all]) => this.facetRow(key, value, all, max)),
        ),
      );
    };
    return h(
      'div.stack',
      {},
      facet('Why they wait', 'reason', 12),
      facet(isPool() ? 'Class' : 'Share', 'share'),
      facet('User', 'user', 6),
    );
  }

  facetRow(key, value, all, max) {
    const reason = key === 'reason' && this.titles.get(value);
    const beside = reason
      ? span(this.data.waiting.now - Math.min(...all.map((it) => it.asked_at ?? Infinity)))
      : `${short(sum(all, (it) => it.jobs))} jobs`;
    return h(
      'button.pick',
      {
        type: 'button',
        'data-key': value,
        'aria-pressed': String(this.chosen[key] === value),
        onclick: () => this.pick(key, value),
      },
      h(
        'span.line',
        {},
        h('span', {}, reason?.title ?? value),
        h('span.r', {}, h('b', {}, count(all.length)), ` · ${beside}`),
      ),
      bar([{ value: all.length, color: 'var(--wait)', name: words().request, hatch: true }], max, {
        height: 6,
      }),
    );
  }

  ages() {
    const all = this.data.waiting.requests.filter((it) => this.fits(it, 'age'));
    const bins = AGES.map((age) => ({ age, n: all.filter((it) => this.isOfAge(it, age)).length }));
    const max = Math.max(...bins.map((it) => it.n), 1);
    return card(
      { title: 'By age', sub: 'since it was first asked' },
      h(
        'div.pad.hist',
        {},
        bins.map(({ age: [name, from], n }) =>
          h(
            'button',
            {
              type: 'button',
              class: from >= LATE ? 'late' : null,
              'data-key': name,
              'aria-pressed': String(this.chosen.age === name),
              onclick: () => this.pick('age', name),
            },
            h(
              'b',
              {},
              from >= LATE && n > 0 && h('span.sev-watch', {}, icon('watch', 'late'), ' '),
              count(n),
            ),
            h('i', { style: { height: `${Math.round((52 * n) / max)}px` } }),
            name,
          ),
        ),
      ),
    );
  }

  list(shown) {
    const sub = isPool() ? 'that get no slots' : 'requests of one task with one reason are one row';
    return card(
      { title: 'By reason, oldest first', sub },
      shown.length
        ? waitsTable(shown, {
            now: this.data.waiting.now,
            reasons: this.titles,
            most: this.chosen.reason ? MANY : FEW,
            pick: this.chosen.reason ? null : (reason) => this.pick('reason', reason),
          })
        : empty(`No ${words().request} matches these filters`, 'Take one away above.'),
    );
  }
}
