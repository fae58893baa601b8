// What is known of a queue, an owner, a job and the requests of a task, beside what was decided.

import { SHAPES, count, h, moment, query } from './dom.js';
import { terms } from './decision.js';
import { table } from './table.js';

/** A queue: its jobs and pilots, and what rejects it. */
export function queueView(queue) {
  const status = queue.status || 'no fact';
  const reserved = queue.reserved;
  return h(
    'section',
    {},
    terms([
      ['status', `${SHAPES[queue.status] ?? '?'} ${status}`],
      ['site', queue.site],
      ['running', `${count(queue.running)} jobs, ${count(queue.running_cores)} cores`],
      ['queued', `${count(queue.queued)} jobs, ${count(queue.queued_cores)} cores`],
      ['transferring', `${count(queue.transferring)} jobs`],
      ['reserved', `${count(reserved)} jobs assigned and not seen yet`],
      [
        'pilots',
        `${count(queue.pilots_running)} running, ${count(queue.pilots_submitted)} submitted`,
      ],
      ['slots', queue.slots === null ? 'not stated' : count(queue.slots)],
      ['last pilot (UTC)', queue.last_pilot_at ? moment(queue.last_pilot_at) : 'none seen'],
      [
        'last start of a job (UTC)',
        queue.last_start_at ? moment(queue.last_start_at) : 'none seen',
      ],
    ]),
    h(
      'p',
      {},
      h('a', { href: `#decisions${query({ queue: queue.queue })}` }, 'Decisions that chose it'),
      ' · ',
      h('a', { href: `#time${query({ name: queue.queue })}` }, 'Its counters as of a moment'),
    ),
    rejecting(queue),
  );
}

function rejecting({ rejecting: rows = [], rejecting_of: of }) {
  const title = h(
    'h3',
    {},
    'Filters that rejected it',
    of ? `, in the newest ${count(of)} decisions that list it` : '',
  );
  if (!rows.length)
    return [title, h('p', {}, 'None: no decision that is kept lists a rejection of this queue.')];
  const most = rows.reduce((all, it) => Math.max(all, it.decisions), 1);
  return [
    title,
    table({
      label: 'Filters that rejected the queue',
      rows,
      columns: [
        { name: 'filter', value: (it) => it.filter },
        {
          name: 'decisions',
          number: true,
          value: (it) => it.decisions,
          cell: (it) => count(it.decisions),
        },
        {
          name: 'against the most',
          value: (it) => it.decisions,
          cell: (it) =>
            h(
              'span.flow',
              { 'aria-hidden': 'true' },
              h('span.cut', { style: { width: `${(100 * it.decisions) / most}%` } }),
            ),
        },
      ],
    }),
  ];
}

/** What an owner has on the grid. */
export function ownerView(owner) {
  return h(
    'section',
    {},
    terms([
      ['running', `${count(owner.running_jobs)} jobs, ${count(owner.running_cores)} cores`],
      ['queued', `${count(owner.queued_jobs)} jobs, ${count(owner.queued_cores)} cores`],
      ['reserved', `${count(owner.reserved_jobs)} jobs assigned and not seen yet`],
    ]),
  );
}

/** How each rule stands to a job, and why one of a pool waits. */
export function jobView(job) {
  const title = job.waits
    ? 'How the job stands, and why it waits'
    : 'How each rule stands to the job';
  return h(
    'section',
    {},
    h('h3', {}, title),
    h('pre', { tabindex: '0' }, job.text),
  );
}

/** Where each request of a task stands. */
export function requestsView(requests) {
  const state = (it) =>
    it.open
      ? it.answered
        ? 'waits for a better answer'
        : 'waits for its first answer'
      : 'answered';
  return h(
    'section',
    {},
    h('h3', {}, `Requests: ${count(requests.length)}`),
    table({
      label: 'Requests',
      rows: requests,
      most: 10,
      columns: [
        { name: 'request', value: (it) => it.subject },
        { name: 'attempt', number: true, value: (it) => it.attempt },
        { name: 'asked (UTC)', value: (it) => it.asked_at, cell: (it) => moment(it.asked_at) },
        { name: 'stands', value: state },
        {
          name: 'judged again at the latest (UTC)',
          value: (it) => it.judged_again_at ?? '',
          cell: (it) => (it.open && it.judged_again_at ? moment(it.judged_again_at) : ''),
        },
      ],
    }),
  );
}
