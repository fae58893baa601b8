// What waits, as a table: a body for each reason, the oldest first.

import { h, icon } from './dom.js';
import { ago, count, moment, plural, span } from './format.js';
import { isPool, linkTo, queueLink, whyLink, words } from './words.js';

/** What helps those that wait for a reason. */
const HELPS = {
  time: 'It goes by itself.',
  turn: 'It is judged soon.',
  throttle: 'It goes once the throttle is lifted.',
  configuration: 'Waiting does not help: a configuration, or the request, must change.',
};

/** A sentence begins with a capital letter. */
export const capital = (text) => (text ? text[0].toUpperCase() + text.slice(1) : '');

/** Requests of one task that wait for the same reason are one row: the oldest, with how many. */
function alike(list) {
  const rows = new Map();
  for (const it of list) {
    const key = `${it.task || it.subject} ${it.reason}`;
    const row = rows.get(key);
    if (row) {
      row.more += 1;
      row.jobs += it.jobs;
    } else rows.set(key, { ...it, key, more: 0 });
  }
  return [...rows.values()];
}

/** Columns: of a pool a workflow's last slot stands where others name what came nearest. */
function columns(now) {
  const subject = {
    name: capital(words().request),
    kind: 'c1',
    cell: (it) => [
      it.task ? linkTo('task', it.task, it.subject) : whyLink(it.subject),
      it.more > 0 && h('span.sub', {}, `and ${it.more} more`),
    ],
  };
  const owner = {
    name: isPool() ? 'Class, user' : 'Share, user',
    cell: (it) => [
      isPool() ? it.gshare : linkTo('share', it.gshare),
      it.user && h('span.sub', {}, linkTo('user', it.user)),
    ],
  };
  const waits = {
    name: 'Waits',
    kind: 'c2 nowrap',
    cell: (it) => h('b', {}, it.asked_at ? span(now - it.asked_at) : '–'),
  };
  const jobs = {
    name: isPool() ? 'Idle jobs' : 'Jobs',
    kind: 'num',
    short: 'jobs',
    cell: (it) => count(it.jobs),
  };
  const slot = {
    name: 'Last slot',
    cell: (it) =>
      it.last_slots_at
        ? ago(it.last_slots_at, now)
        : it.jobs_with_slots
          ? 'not known'
          : h('span.sev-watch', {}, icon('watch'), ' none yet'),
  };
  const lack = { name: 'What is missing', kind: 'why-say', cell: lacks };
  const again = {
    name: 'Judged again',
    kind: 'num drop',
    cell: (it) => (it.until ? moment(it.until, now) : '–'),
  };
  return isPool()
    ? [waits, subject, slot, owner, jobs]
    : [waits, subject, lack, owner, jobs, again];
}

/** {now, reasons: by name, most: rows of a reason, pick?: shows all of one}. */
export function waitsTable(list, { now, reasons, most, pick }) {
  const groups = new Map();
  for (const it of list) {
    if (!groups.has(it.reason)) groups.set(it.reason, []);
    groups.get(it.reason).push(it);
  }
  const all = columns(now);
  const isNumber = (it) => it.kind?.startsWith('num');
  const head = (it) => h('th', { scope: 'col', class: isNumber(it) ? 'num' : null }, it.name);
  const cell = (it) => (column) =>
    h(
      column.kind === 'c1' ? 'th' : 'td',
      {
        class: column.kind ?? null,
        scope: column.kind === 'c1' ? 'row' : null,
        'data-l': column.short ?? null,
      },
      column.cell(it),
    );
  const row = (it) => h('tr', { 'data-key': it.key }, all.map(cell(it)));
  const body = ([reason, mine]) => {
    const lines = alike(mine);
    const left = lines.length - most;
    return h(
      'tbody',
      { 'data-key': reason },
      reasonRow(reasons.get(reason) ?? mine[0], mine, all.length),
      lines.slice(0, most).map(row),
      left > 0 &&
        h(
          'tr',
          { 'data-key': 'more' },
          h(
            'td',
            { colspan: String(all.length) },
            pick
              ? h(
                  'button.btn.plain',
                  { type: 'button', onclick: () => pick(reason) },
                  `${count(left)} more`,
                )
              : `and ${count(left)} more`,
          ),
        ),
    );
  };
  return h(
    'div.scroll',
    { role: 'group', 'aria-label': 'What waits', tabindex: '0' },
    h('table.cards.waiting', {}, h('thead', {}, h('tr', {}, all.map(head))), [...groups].map(body)),
  );
}

function reasonRow({ title, reason, help, helps }, mine, columns_) {
  const jobs = mine.reduce((total, it) => total + it.jobs, 0);
  return h(
    'tr.head',
    { 'data-key': 'head' },
    h(
      'th',
      { scope: 'colgroup', colspan: String(columns_) },
      h('b', {}, title ?? reason),
      h('span.soft', {}, ` · ${plural(mine.length, words().request)}, ${plural(jobs, 'job')}`),
      h(
        'span.sub',
        {},
        capital(help),
        help && !/[.!?]$/.test(help) && '.',
        ' ',
        h('b', {}, HELPS[helps]),
      ),
    ),
  );
}

/** What a request lacks: what holds it, or what missed by least. */
function lacks({ held_by: held, nearest, as_whole: whole, answers }) {
  if (held) {
    return [
      `throttled by ${held.rule}: ${held.kind} `,
      linkTo(held.kind, held.subject),
      held.limit !== null && `, ${count(held.measured)} of at most ${count(held.limit)}`,
      held.until ? ['; until ', moment(held.until), ' UTC'] : '',
    ];
  }
  if (whole) return whole;
  if (!nearest) {
    const text = answers ? `${plural(answers, 'answer')}, none of them a place` : 'not judged yet';
    return h('span.soft', {}, text);
  }
  const isNamed = nearest.queue && nearest.text.startsWith(nearest.queue);
  return isNamed
    ? [queueLink(nearest.queue), nearest.text.slice(nearest.queue.length)]
    : [nearest.queue && [queueLink(nearest.queue), ': '], nearest.text];
}
