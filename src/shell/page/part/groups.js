// Many places in groups: the troubled as rows, the others as one strip in which width is size and
// fill what runs, the quiet as a number.

import { spark } from './chart.js';
import { h, icon, later } from './dom.js';
import { count, plural, short, span } from './format.js';
import { card, rankOf, severity } from './card.js';
import { hasWholes, hrefOf, isPool, words } from './words.js';

/** So many of a group's strip have a name; the smaller ones are summed. */
const NAMED = 5;

/** How much of a place is used, and its size. */
export function extent(queue) {
  if (hasWholes() && queue.pledged_cores) {
    return {
      used: queue.running_cores,
      whole: Math.max(queue.pledged_cores, queue.running_cores),
      beside: queue.pledged_cores,
    };
  }
  return { used: queue.running, whole: queue.running + queue.queued, beside: queue.queued };
}

const sum = (list, of) => list.reduce((total, it) => total + (of(it) ?? 0), 0);

const says = (used, beside) =>
  hasWholes()
    ? [h('b', {}, short(used)), h('span.soft', {}, ` of ${short(beside)} ${words().cores}`)]
    : [h('b', {}, short(used)), h('span.soft', {}, ` run · ${short(beside)} wait`)];

/** The curve of each place by its name, from an answer of /series. */
export function curves(answer) {
  return new Map((answer?.series ?? []).map((it) => [it.name, it.values]));
}

/** The worst trouble of each place, by its name, from an answer of /sites. */
export function troubles(answer) {
  const worst = new Map();
  for (const site of answer?.sites ?? []) {
    for (const it of site.troubles ?? []) {
      const name = it.queue ?? site.site;
      if (!worst.has(name) || rankOf(it.severity) < rankOf(worst.get(name).severity))
        worst.set(name, it);
    }
  }
  return worst;
}

const placeHref = (name) => hrefOf(isPool() ? 'site' : 'queue', name);

/** Groups of places with their troubled members first. */
export function groupsOf(queues, worst) {
  const byName = new Map();
  for (const queue of queues) {
    const name = queue.group || queue.site || 'no group stated';
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name).push(queue);
  }
  const size = (queue) => extent(queue).whole;
  return [...byName].map(([name, all]) => {
    const bad = all
      .filter((it) => rankOf(worst.get(it.queue)?.severity) < 2)
      .sort(
        (a, b) =>
          rankOf(worst.get(a.queue).severity) - rankOf(worst.get(b.queue).severity) ||
          size(b) - size(a),
      );
    const rank = sum(bad, (it) => [1e9, 1e3][rankOf(worst.get(it.queue).severity)] + it.queued);
    return {
      name,
      all,
      bad,
      rank,
      used: sum(all, (it) => extent(it).used),
      beside: sum(all, (it) => extent(it).beside),
    };
  });
}

export const compareGroups = (a, b) =>
  b.rank - a.rank || b.used + b.beside - a.used - a.beside || (a.name < b.name ? -1 : 1);

/** The card of all groups, in the order given. `version` of the curves says when they changed. */
export function groupsCard({ groups, worst, lines, version, now, more }) {
  const { places, group } = words();
  const unit = hasWholes()
    ? `its ${words().cores}, filled as used`
    : 'its jobs, filled as they run';
  return card(
    {
      title: `${places} by ${group}`,
      key: 'groups',
      sub: `most trouble first; a block is as wide as ${unit}`,
      more,
      kind: '.groups',
    },
    groups.map((it) => one(it, { worst, lines, version, now })),
  );
}

function one({ name, all, bad, used, beside }, { worst, lines, version, now }) {
  const isBad = new Set(bad);
  const size = (it) => extent(it).whole;
  const well = all.filter((it) => !isBad.has(it));
  const busy = well
    .filter((it) => (hasWholes() ? extent(it).used > 0 : size(it) > 0))
    .sort((a, b) => size(b) - size(a));
  const quiet = well.filter((it) => !busy.includes(it));
  const shown = busy.length > NAMED + 2 ? busy.slice(0, NAMED) : busy;
  const small = busy.slice(shown.length);
  const hasAct = bad.some((it) => worst.get(it.queue).severity === 'act');
  return h(
    'section.group',
    { 'aria-label': name, 'data-key': name },
    h(
      'div.sum',
      {},
      h(
        'h3',
        {},
        name,
        h('span.soft', {}, plural(all.length, words().place)),
        bad.length > 0 &&
          h(
            `span.sev-${hasAct ? 'act' : 'watch'}`,
            {},
            icon(hasAct ? 'act' : 'watch'),
            ` ${bad.length} in trouble`,
          ),
      ),
      h('span.load', {}, says(used, beside)),
      later(`${name} ${version}`, () =>
        spark(total(all, lines), { height: 24, label: `${name} running` }),
      ),
    ),
    bad.length > 0 &&
      h(
        'ul.troubled',
        {},
        bad.map((it) => troubled(it, worst.get(it.queue), { lines, version, now })),
      ),
    h(
      'div.mosaic',
      {},
      shown.map(block),
      small.length > 0 && rest(small),
      quiet.length > 0 &&
        h(
          'a.quiet',
          {
            href: '#queues',
            title: quiet
              .map((it) => it.queue)
              .slice(0, 40)
              .join(', '),
          },
          `+ ${quiet.length} quiet`,
        ),
    ),
  );
}

function troubled(queue, trouble, { lines, version, now }) {
  const { used, beside } = extent(queue);
  return h(
    'li',
    { 'data-key': queue.queue },
    h(
      'a',
      { href: placeHref(queue.queue) },
      severity(trouble.severity),
      h('span.name', {}, queue.queue),
      h(
        'span.why',
        { title: trouble.text },
        verdict(trouble, queue.queue),
        trouble.since && h('span.nowrap', {}, `, ${span(now - trouble.since)}`),
      ),
      h('span.load', {}, says(used, beside)),
      later(`${queue.queue} ${version}`, () =>
        spark(lines.get(queue.queue), { height: 20, label: `${queue.queue} running` }),
      ),
    ),
  );
}

/** A trouble in few words: its title without the name that stands beside it. */
function verdict({ title, text }, name) {
  return title?.startsWith(`${name} `) ? title.slice(name.length + 1) : (text ?? title);
}

const filled = (used, whole) => ({
  '--w': Math.max(1, Math.round(whole)),
  '--p': `${Math.min(100, Math.round((100 * used) / (whole || 1)))}%`,
});

function block(queue) {
  const { used, whole, beside } = extent(queue);
  const text = hasWholes()
    ? `${queue.queue}: ${count(used)} of ${count(beside)} ${words().cores} used, ${queue.status || 'no fact'}`
    : `${queue.queue}: ${count(used)} running, ${count(beside)} queued, ${queue.status || 'no fact'}`;
  return h(
    'a',
    {
      'data-key': queue.queue,
      href: placeHref(queue.queue),
      title: text,
      'aria-label': text,
      style: filled(used, whole),
    },
    h('span', {}, h('bdi', {}, queue.queue)),
  );
}

function rest(small) {
  const text = `${small.length} smaller`;
  return h(
    'a.rest',
    {
      href: '#queues',
      title: small
        .map((it) => it.queue)
        .slice(0, 40)
        .join(', '),
      style: filled(
        sum(small, (it) => extent(it).used),
        sum(small, (it) => extent(it).whole),
      ),
    },
    h('span', {}, text),
  );
}

/** The sum of the curves of all members. */
function total(all, lines) {
  const curves_ = all.map((it) => lines.get(it.queue)).filter(Boolean);
  if (!curves_.length) return [];
  return curves_[0].map((_, at) => {
    const values = curves_
      .map((it) => it[at])
      .filter((value) => value !== null && value !== undefined);
    return values.length ? values.reduce((a, b) => a + b, 0) : null;
  });
}
