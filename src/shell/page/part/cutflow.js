// The way from all candidates to those chosen: a row a filter, with what it left.

import { count, fill, h } from './dom.js';

/** The cut-flow of a decision; null where no candidate was looked at. */
export function cutflow(decision) {
  const { candidates, steps = [], queues = [] } = decision;
  if (!candidates) return null;
  const chosen = queues.filter((queue) => queue.jobs > 0).length;
  const idle = steps.filter((step) => !step.rejected).length;
  const body = h('tbody');
  const bar = (left, rejected) =>
    h(
      'span.flow',
      { 'aria-hidden': 'true' },
      h('span.left', { style: { width: `${(100 * left) / candidates}%` } }),
      h('span.cut', { style: { width: `${(100 * rejected) / candidates}%` } }),
    );
  const line = (name, rejected, left, help, kind) =>
    h(
      kind ? `tr.${kind}` : 'tr',
      {},
      h('th', { scope: 'row' }, name),
      h('td.number', {}, rejected === null ? '' : count(rejected)),
      h('td.number', {}, count(left)),
      h('td.flows', {}, bar(left, rejected ?? 0)),
      h('td.help', {}, help),
    );
  const helpOf = (step) => [step.help, step.spec && h('span.spec', {}, ` (${step.spec})`)];
  const last =
    decision.outcome === 'assign'
      ? line(
          'chosen',
          null,
          chosen,
          chosen < queues.length
            ? `queues that got jobs; ${count(queues.length - chosen)} more passed all filters`
            : 'queues that got jobs',
          'all',
        )
      : line(
          'left',
          null,
          queues.length,
          queues.length ? 'queues that passed all filters' : 'no queue passed all filters',
          'all',
        );
  let all = false;
  const button = h('button.more', {
    type: 'button',
    hidden: !idle,
    onclick: () => {
      all = !all;
      write();
    },
  });

  function write() {
    const shown = steps.filter((step) => all || step.rejected);
    fill(
      body,
      line('candidates', null, candidates, 'queues that were looked at', 'all'),
      shown.map((step) =>
        line(step.filter, step.rejected, step.left, helpOf(step), step.rejected ? '' : 'idle'),
      ),
      last,
    );
    button.textContent = all
      ? 'Only filters that rejected some'
      : `Also ${idle} filters that rejected none`;
  }

  write();
  return h(
    'section',
    { 'aria-labelledby': 'cutflow' },
    h('h3', { id: 'cutflow' }, 'From all candidates to the chosen'),
    h(
      'div.sheet',
      {},
      h(
        'table.cutflow',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            [
              ['filter'],
              ['rejected', 'number'],
              ['left', 'number'],
              ['', ''],
              ['what it asks for'],
            ].map(([name, kind]) =>
              h(
                kind ? `th.${kind}` : 'th',
                { scope: 'col' },
                name || h('span.unseen', {}, 'picture'),
              ),
            ),
          ),
        ),
        body,
      ),
    ),
    button,
  );
}
