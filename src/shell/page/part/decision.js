// One decision: its outcome, the way from the candidates to the chosen, every candidate.

import { cutflow } from './cutflow.js';
import { badge, count, fill, figure, h, moment, queueLink, setText, span, whyLink } from './dom.js';
import { table } from './table.js';

/** A list of terms; those without a value are left out. */
export function terms(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return h(
    'dl.terms',
    {},
    shown.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  );
}

/** Everything about a decision; `now` is the process's time, for what is still to come. */
export function decisionView(decision, now) {
  return h(
    'article.decision',
    {},
    h('h2', {}, badge(decision.outcome), ' ', decision.headline),
    facts(decision),
    ahead(decision, now),
    notes(decision),
    cutflow(decision),
    ranked(decision),
    rejected(decision),
  );
}

function facts(it) {
  return terms([
    [
      'request',
      `${it.subject}, attempt ${it.attempt}, answer ${it.ordinal}${it.dry_run ? ', dry run' : ''}`,
    ],
    ['task', whyLink(it.task, { kind: 'task' })],
    ['decided (UTC)', moment(it.at)],
    ['share', whyLink(it.gshare, { kind: 'share' })],
    ['user', whyLink(it.user, { kind: 'user' })],
    ['group', whyLink(it.working_group, { kind: 'group' })],
    ['nucleus', it.nucleus],
    ...matched(it),
    ['policy', h('span', { title: it.policy_hash }, it.policy)],
    ['cycle', `${count(it.cycle)} of epoch ${it.epoch}`],
    ['decision', h('code', {}, it.id)],
  ]);
}

/** What a job got of an offer of slots. */
function matched({ matched: it }) {
  if (!it) return [];
  return [
    ['job', whyLink(it.job, { kind: 'job' })],
    ['attempt', it.job_attempt],
    ['gets', `${count(it.cores)} cores, ${count(it.rss_mb)} MB, ${count(it.wall_time_s)} s`],
    ['node', it.node],
    ['band', it.band],
    ['weight', `${figure(it.weight_milli / 1000)} cores by power`],
    ['reads from', it.overflow_source || it.io_source],
    ['slots of', it.charged_group],
    ['relaxed', it.relaxed.join(', ')],
  ];
}

/** What would have to change, and when it is judged again. */
function ahead({ outcome, waits, reason, remedy }, now) {
  if (outcome === 'reject') {
    return h(
      'section.ahead',
      {},
      h('h3', {}, 'What would have to change'),
      h('p', {}, `Rejected for good: ${reason}.`),
      remedy && h('p', {}, remedy),
    );
  }
  if (!waits) return null;
  const { judged_again_at: again, would_change: changes = [], wakes = [] } = waits;
  const left = again - now;
  return h(
    'section.ahead',
    {},
    h('h3', {}, 'What would have to change'),
    changes.length
      ? h(
          'ul',
          {},
          changes.map((line) => h('li', {}, line)),
        )
      : h(
          'p',
          {},
          'No single fact is known that would let a queue pass: it waits for another ' +
            'configuration or its deadline.',
        ),
    h(
      'p',
      {},
      'Judged again at the latest at ',
      moment(again),
      ' UTC ',
      left > 0
        ? `(in ${span(left)}).`
        : '(that moment has passed; see whether a newer answer is there).',
      wakes.length
        ? ` Before that, a change of any of these can wake it: ${wakes.join(', ')}.`
        : ' Nothing is named that wakes it before.',
    ),
  );
}

function notes({ notes: lines = [] }) {
  return (
    lines.length > 0 &&
    h(
      'section',
      {},
      h('h3', {}, 'Notes'),
      h(
        'ul.notes',
        {},
        lines.map((line) => h('li', {}, line)),
      ),
    )
  );
}

/** Queues that passed all filters, with each factor of their weight. */
function ranked({ queues = [], outcome }) {
  if (!queues.length) return null;
  const names = [...new Set(queues.flatMap((it) => it.factors.map((factor) => factor.name)))];
  const factor = (it, name) => it.factors.find((one) => one.name === name)?.value;
  const chosen = queues.filter((it) => it.jobs > 0).length;
  const columns = [
    { name: 'queue', value: (it) => it.queue, cell: (it) => queueLink(it.queue) },
    {
      name: 'jobs',
      number: true,
      value: (it) => it.jobs,
      cell: (it) => (it.jobs ? h('b', {}, count(it.jobs)) : 'none'),
    },
    { name: 'weight', number: true, value: (it) => it.weight, cell: (it) => figure(it.weight) },
    ...names.map((name) => ({
      name,
      number: true,
      value: (it) => factor(it, name),
      cell: (it) => figure(factor(it, name)),
      title: `factor ${name} of the weight`,
    })),
  ];
  if (queues.some((it) => it.platform))
    columns.push({ name: 'platform', value: (it) => it.platform });
  const title =
    outcome === 'assign'
      ? `Chosen: ${count(chosen)} of ${count(queues.length)} that passed all filters`
      : `${count(queues.length)} passed all filters`;
  return h(
    'section',
    {},
    h('h3', {}, title),
    table({ label: 'Queues that passed all filters', columns, rows: queues }),
  );
}

/** Queues that were rejected, by which filter and why. */
function rejected({ rejected: rows = [], steps = [], rejected_complete: isComplete = true }) {
  const all = steps.reduce((sum, step) => sum + step.rejected, 0);
  if (!rows.length && !all) return null;
  const title = h('h3', {}, `Rejected: ${count(Math.max(rows.length, all))}`);
  if (!rows.length) {
    return h(
      'section',
      {},
      title,
      h('p', {}, 'This answer lists no single candidate, only how many each filter rejected.'),
    );
  }
  const columns = [
    { name: 'queue', value: (it) => it.queue, cell: (it) => queueLink(it.queue) },
    { name: 'filter', value: (it) => it.filter },
    {
      name: 'measured',
      number: true,
      value: (it) => it.measured,
      cell: (it) => figure(it.measured),
    },
    { name: 'limit', number: true, value: (it) => it.limit, cell: (it) => figure(it.limit) },
    { name: 'reason', value: (it) => it.reason },
  ];
  const box = h('div');
  const note = h('span.total', { 'aria-live': 'polite' });
  const show = (part) => {
    const shown = rows.filter((it) =>
      `${it.queue} ${it.filter} ${it.reason}`.toLowerCase().includes(part),
    );
    setText(
      note,
      part
        ? `${count(shown.length)} of ${count(rows.length)}`
        : isComplete && rows.length >= all
          ? ''
          : `${count(rows.length)} of them are listed`,
    );
    fill(box, table({ label: 'Queues that were rejected', columns, rows: shown, most: 50 }));
  };
  show('');
  const input = h('input', {
    type: 'search',
    size: '32',
    placeholder: 'part of a queue, filter or reason',
    'aria-label': 'Rejected queues with this',
    oninput: (event) => show(event.target.value.trim().toLowerCase()),
  });
  return h(
    'section',
    {},
    title,
    (rows.length > 10 || rows.length < all) &&
      h('form.controls', { onsubmit: (event) => event.preventDefault() }, input, note),
    box,
  );
}
