// From all candidates to those chosen, as a funnel that is read downwards: a row a filter.

import { h } from './dom.js';
import { count, figure, plural } from './format.js';
import { isGrid, isPool, queueLink } from './words.js';

/** So many names of a filter's row are listed. */
const LISTED = 30;

/** What a candidate of the domain is. */
function candidate() {
  if (isPool()) return ['job', 'Every job that waits'];
  return isGrid()
    ? ['queue', 'Every queue of the clusters']
    : ['queue', 'Every queue and resource type'];
}

/** A filter's name in words; the rule's own name stands beside it. */
export function filterTitle({ title, filter }) {
  const text = title ?? filter.replaceAll('_', ' ');
  return text[0].toUpperCase() + text.slice(1);
}

/** How far a figure is from what would let it pass, as a part of the limit; null: none is known. */
function distance({ measured, limit }) {
  return typeof measured === 'number' && typeof limit === 'number' && limit > 0
    ? Math.abs(measured - limit) / limit
    : null;
}

/** The one that missed a filter by least. */
function nearest(mine) {
  const near = mine.filter((it) => distance(it) !== null);
  return near.sort((a, b) => distance(a) - distance(b))[0];
}

/** The cut-flow of a decision; null where no candidate was looked at. */
export function cutflow(decision) {
  const { candidates, steps = [], queues = [], rejected = [] } = decision;
  if (!candidates) return null;
  const [one, all] = candidate();
  // Width goes with the square root, so that the last ten of some hundreds are seen.
  const root = (n) => 100 * Math.sqrt(Math.max(0, n) / candidates);
  const funnel = (left, gone) => {
    const side = { width: `${(root(left + gone) - root(left)) / 2}%` };
    return h(
      'span.funnel',
      { 'aria-hidden': 'true' },
      gone > 0 && h('span.gone', { style: side }),
      h('span.left', { style: { width: `${root(left)}%` } }),
      gone > 0 && h('span.gone', { style: side }),
    );
  };
  const line = (kind, name, number, small, left, gone, ...say) =>
    h(
      'li',
      { class: `cut ${kind}`, 'data-filter': name },
      h('span.fig', {}, h('b', {}, number), h('small', {}, small)),
      funnel(left, gone),
      h('div.say', {}, say),
    );
  const step = (it) => {
    const mine = rejected.filter((row) => row.filter === it.filter);
    return line(
      it.left ? '' : 'zero',
      it.filter,
      `−${count(it.rejected)}`,
      `${count(it.left)} left`,
      it.left,
      it.rejected,
      h('b', {}, filterTitle(it)),
      h('span', {}, ` · ${it.help}`),
      nearMiss(nearest(mine)),
      names(it, mine),
    );
  };
  const idle = steps.filter((it) => !it.rejected);
  return h(
    'ol.cutflow',
    { 'aria-label': 'From all candidates to the chosen' },
    line('end', '', count(candidates), 'candidates', candidates, 0, h('b', {}, all)),
    steps.filter((it) => it.rejected).map(step),
    idle.length > 0 && idleRow(idle),
    last(decision, queues, one, line),
  );
}

const nearMiss = (it) => it && h('small', {}, 'nearest: ', queueLink(it.queue), `, ${it.reason}`);

function names({ filter, spec, rejected }, mine) {
  const rule = `rule ${filter}${spec ? `, ${spec}` : ''}`;
  if (!mine.length) return h('small', {}, rule);
  const says = (it) =>
    it.reason || (distance(it) === null ? '' : `${figure(it.measured)}, limit ${figure(it.limit)}`);
  return h(
    'details',
    {},
    h('summary', {}, `which ${count(rejected)}, ${rule}`),
    h(
      'ul',
      {},
      mine
        .slice(0, LISTED)
        .map((it) => h('li', {}, queueLink(it.queue), h('span.soft', {}, says(it)))),
      rejected > Math.min(mine.length, LISTED) &&
        h('li', {}, `and ${count(rejected - Math.min(mine.length, LISTED))} more`),
    ),
  );
}

/** Filters that rejected none: how many, and their names behind a fold. */
function idleRow(idle) {
  return h(
    'li.cut.idle',
    {},
    h('span'),
    h('span'),
    h(
      'details',
      {},
      h('summary', {}, `${plural(idle.length, 'filter')} more rejected none`),
      h(
        'ul',
        {},
        idle.map((it) =>
          h('li', {}, h('span', {}, filterTitle(it)), h('span.soft', {}, it.filter)),
        ),
      ),
    ),
  );
}

function last({ outcome }, queues, one, line) {
  const got = queues.filter((it) => it.jobs > 0);
  if (outcome !== 'assign') {
    const text = queues.length ? 'Passed, and wait' : `No ${one} passed, so the request waits`;
    return line('end', '', count(queues.length), 'left', queues.length, 0, h('b', {}, text));
  }
  const more = queues.length - got.length;
  const named = got
    .slice(0, 5)
    .map((it, at) => [at > 0 && ', ', queueLink(it.queue), ` gets ${plural(it.jobs, 'job')}`]);
  return line(
    'end chosen',
    '',
    count(got.length),
    'chosen',
    got.length,
    0,
    h('b', {}, named, got.length > 5 && ` and ${got.length - 5} more`),
    more > 0 && h('small', {}, `${count(more)} more passed with less weight`),
  );
}
