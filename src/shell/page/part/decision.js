// One decision: its outcome, the way from the candidates to the chosen, every candidate.

import { card, terms } from './card.js';
import { cutflow } from './cutflow.js';
import { fill, h, setText } from './dom.js';
import { badge } from './events.js';
import { count, figure, moment, plain, span } from './format.js';
import { table } from './table.js';
import { linkTo, queueLink, whyLink, words } from './words.js';

/** Everything about a decision; `now` is the process's time, for what is still to come. */
export function decisionView(decision, now) {
  const flow = cutflow(decision);
  const sub = `policy ${decision.policy}, answer ${decision.ordinal}, ${count(decision.candidates)} candidates`;
  return h(
    'article.decision.stack',
    {},
    h('h2.outcome', {}, badge(decision.outcome), ' ', decision.headline),
    h(
      'div.cols',
      {},
      h(
        'div.stack',
        {},
        flow && card({ title: 'From all candidates to the chosen', sub }, flow),
        ranked(decision),
        rejected(decision),
      ),
      h(
        'div.stack',
        {},
        ahead(decision, now),
        notes(decision),
        card({ title: 'The decision' }, facts(decision)),
      ),
    ),
  );
}

function facts(it) {
  return terms([
    [
      'request',
      `${it.subject}, attempt ${it.attempt}, answer ${it.ordinal}${it.dry_run ? ', dry run' : ''}`,
    ],
    [words().task, linkTo('task', it.task)],
    ['decided (UTC)', moment(it.at)],
    ['share', linkTo('share', it.gshare)],
    ['user', linkTo('user', it.user)],
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
  const title = 'What would have to change';
  if (outcome === 'reject') {
    return card(
      { title, kind: '.ahead' },
      h(
        'div.pad.small',
        {},
        h('p', {}, `Rejected for good: ${reason}.`),
        remedy && h('p', {}, remedy),
      ),
    );
  }
  if (!waits) return null;
  const { judged_again_at: again, would_change: changes = [], wakes = [] } = waits;
  const left = again - now;
  return card(
    { title, kind: '.ahead' },
    h(
      'div.pad',
      {},
      changes.length
        ? h(
            'ol.change',
            {},
            changes.map((line) => h('li', {}, h('span', {}, plain(line, now)))),
          )
        : h(
            'p.small',
            {},
            `No single fact is known that would let a ${words().place} pass: it waits for another ` +
              'configuration or its deadline.',
          ),
    ),
    again > 0 &&
      h(
        'p.legend',
        {},
        h(
          'span',
          {},
          'Judged again at the latest at ',
          moment(again, now),
          ' UTC ',
          left > 0
            ? `(in ${span(left)}).`
            : '(that moment has passed; see whether a newer answer is there).',
          wakes.length > 0 &&
            ` Before that, a change of any of these can wake it: ${wakes.join(', ')}.`,
        ),
      ),
  );
}

function notes({ notes: lines = [] }) {
  return (
    lines.length > 0 &&
    card(
      { title: 'Notes' },
      h(
        'ul.acts.narrow',
        {},
        lines.map((line) => h('li.only', {}, h('div.body', {}, line))),
      ),
    )
  );
}

/** Places that passed all filters, with each factor of their weight. */
function ranked({ queues = [], outcome }) {
  if (!queues.length) return null;
  const names = [...new Set(queues.flatMap((it) => it.factors.map((factor) => factor.name)))];
  const factor = (it, name) => it.factors.find((one) => one.name === name)?.value;
  const chosen = queues.filter((it) => it.jobs > 0).length;
  // One rule is why others get none: it stands once, and at each place what is its own.
  const [rule] = (queues.find((it) => it.why_no_jobs)?.why_no_jobs ?? '').split('; ');
  const own = (why) => (why.startsWith(rule) ? why.slice(rule.length).replace('; ', '') : why);
  const columns = [
    {
      name: words().place,
      kind: 'c1',
      value: (it) => it.queue,
      cell: (it) => [queueLink(it.queue), it.why_no_jobs && h('span.sub', {}, own(it.why_no_jobs))],
    },
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
  const label = 'Queues that passed all filters';
  return card(
    { title },
    rule && h('p.legend', {}, `Why others get no jobs: ${rule}.`),
    table({ label, columns, rows: queues, most: 20, cards: true }),
  );
}

/** Places that were rejected, by which filter and why. */
function rejected({ rejected: rows = [], steps = [], rejected_complete: isComplete = true }) {
  const all = steps.reduce((sum, step) => sum + step.rejected, 0);
  if (!rows.length && !all) return null;
  const title = `Rejected: ${count(Math.max(rows.length, all))}`;
  if (!rows.length) {
    return card(
      { title },
      h(
        'p.empty',
        {},
        'This answer lists no single candidate, only how many each filter rejected.',
      ),
    );
  }
  const columns = [
    { name: words().place, kind: 'c1', value: (it) => it.queue, cell: (it) => queueLink(it.queue) },
    { name: 'filter', kind: 'c2', value: (it) => it.filter },
    { name: 'reason', value: (it) => it.reason },
    ...['measured', 'limit']
      .filter((name) => rows.some((it) => it[name] !== null && it[name] !== undefined))
      .map((name) => ({
        name,
        number: true,
        value: (it) => it[name],
        cell: (it) => figure(it[name]),
      })),
  ];
  const box = h('div');
  const note = h('span.note', { 'aria-live': 'polite' });
  const show = (text) => {
    const shown = rows.filter((it) =>
      `${it.queue} ${it.filter} ${it.reason}`.toLowerCase().includes(text),
    );
    const isAll = isComplete && rows.length >= all;
    setText(
      note,
      text
        ? `${count(shown.length)} of ${count(rows.length)}`
        : isAll
          ? ''
          : `${count(rows.length)} of them are listed`,
    );
    const label = 'Queues that were rejected';
    fill(box, table({ label, columns, rows: shown, most: 20, cards: true }));
  };
  show('');
  const input = h('input', {
    type: 'search',
    size: '28',
    placeholder: 'part of a name, filter or reason',
    'aria-label': 'Rejected candidates with this',
    oninput: (event) => show(event.target.value.trim().toLowerCase()),
  });
  return card(
    { title },
    (rows.length > 10 || rows.length < all) &&
      h('form.controls', { onsubmit: (event) => event.preventDefault() }, input, note),
    box,
  );
}
