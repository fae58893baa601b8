// What is known of a queue, an owner, a job and the requests of a task, beside what was decided.

import { card, facts, status } from './card.js';
import { h } from './dom.js';
import { ago, count, moment, plural } from './format.js';
import { table } from './table.js';
import { hrefOf } from './words.js';

/** A queue: its jobs and pilots; all else is on its page. */
export function queueView(queue, now) {
  return [
    facts([
      ['Status', status(queue.status), queue.site],
      ['Running', count(queue.running), `${count(queue.running_cores)} cores`],
      ['Queued', count(queue.queued), `${count(queue.queued_cores)} cores`],
      ['Reserved', count(queue.reserved), 'jobs assigned and not seen yet'],
      ['Pilots', count(queue.pilots_running), `${count(queue.pilots_submitted)} submitted`],
      ['Last start', ago(queue.last_start_at, now), `last pilot ${ago(queue.last_pilot_at, now)}`],
    ]),
    card(
      {
        title: 'Filters that rejected it',
        sub: queue.rejecting_of
          ? `in the newest ${count(queue.rejecting_of)} decisions that list it`
          : null,
        more: ['its page', hrefOf('queue', queue.queue)],
      },
      queue.rejecting?.length
        ? h(
            'ul.bars',
            {},
            queue.rejecting.map((it) =>
              h(
                'li',
                {},
                h(
                  'span.line',
                  {},
                  h('span', {}, it.title ?? it.filter),
                  h('span.r', {}, plural(it.decisions, 'decision')),
                ),
              ),
            ),
          )
        : h(
            'p.empty',
            {},
            h('b', {}, 'None'),
            'No decision that is kept lists a rejection of this queue.',
          ),
    ),
  ];
}

/** What an owner has on the grid. */
export function ownerView(owner) {
  return facts([
    ['Running', count(owner.running_jobs), `${count(owner.running_cores)} cores`],
    ['Queued', count(owner.queued_jobs), `${count(owner.queued_cores)} cores`],
    ['Reserved', count(owner.reserved_jobs), 'jobs assigned and not seen yet'],
  ]);
}

/** How each rule stands to a job, and why one of a pool waits. */
export function jobView(job) {
  const title = job.waits
    ? 'How the job stands, and why it waits'
    : 'How each rule stands to the job';
  return card({ title }, h('div.pad', {}, h('pre', { tabindex: '0' }, job.text)));
}

/** Where each request of a task stands. */
export function requestsView(requests, now) {
  const state = (it) =>
    it.open
      ? it.answered
        ? 'waits for a better answer'
        : 'waits for its first answer'
      : 'answered';
  return card(
    { title: 'Requests', sub: count(requests.length) },
    table({
      label: 'Requests',
      rows: requests,
      most: 10,
      columns: [
        { name: 'request', value: (it) => it.subject },
        { name: 'attempt', number: true, value: (it) => it.attempt },
        { name: 'asked (UTC)', value: (it) => it.asked_at, cell: (it) => moment(it.asked_at, now) },
        { name: 'stands', value: state },
        {
          name: 'judged again at the latest (UTC)',
          value: (it) => it.judged_again_at ?? '',
          cell: (it) => (it.open && it.judged_again_at ? moment(it.judged_again_at, now) : ''),
        },
      ],
    }),
  );
}
