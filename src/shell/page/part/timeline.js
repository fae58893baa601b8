// From a task's first request to its last job, a lane for each request.

import { card, swatch } from './card.js';
import { timeAxis } from './chart.js';
import { h, icon } from './dom.js';
import { plural, span, when } from './format.js';
import { words } from './words.js';

const sumOf = (list, key) => list.reduce((total, it) => total + (it[key] ?? 0), 0);

/** So many lanes are shown; requests that go the same way share one. */
const LANES = 14;

/** The timeline of an answer of /task; null where no request of it is known any more. */
export function timeline(it) {
  const from = it.asked_at ?? Math.min(...it.requests.map((one) => one.asked_at ?? Infinity));
  const ends = it.requests.flatMap((one) => [one.last_end_at ?? 0, one.asked_at ?? 0]);
  const isDone = it.requests.length > 0 && it.requests.every((one) => !one.open && one.last_end_at);
  const to = isDone && !(it.jobs?.by_status?.running > 0) ? Math.max(...ends) : it.now;
  if (!it.requests.length || !Number.isFinite(from) || to <= from) return null;
  const lanes = lanesOf(it.requests);
  const x = (at) => `${Math.max(0, Math.min(100, (100 * (at - from)) / (to - from)))}%`;
  const shown = lanes.slice(0, LANES);
  return card(
    {
      title: 'From request to last job',
      sub: `${when(from, it.now)} to ${when(to, it.now)} UTC; ${plural(it.requests.length, words().request)}${lanes.length < it.requests.length ? ', those alike are one line' : ''}`,
    },
    h(
      'div.gantt',
      {},
      shown.map((lane) =>
        laneRow(lane, { x, to, from, now: it.now, hasQueued: it.jobs?.by_status?.queued > 0 }),
      ),
      it.commands?.length > 0 && rules(it.commands, x, it.now),
      timeAxis(from, to),
    ),
    lanes.length > LANES && h('p.legend', {}, `and ${plural(lanes.length - LANES, 'line')} more`),
    h(
      'p.legend',
      {},
      swatch('waits for a decision', 'var(--wait)', true),
      swatch('jobs queued', 'var(--run-soft)'),
      swatch('jobs running', 'var(--run)'),
      h('span.key', {}, icon('assign'), 'assigned'),
      it.commands?.length > 0 && h('span.key.sev-watch', {}, icon('watch'), 'commanded by a rule'),
    ),
  );
}

function laneRow(lane, { x, from, to, now, hasQueued }) {
  const [first] = lane.assigned;
  const decided = first?.at ?? (lane.open ? to : lane.asked_at);
  const started = lane.first_start_at ?? (first && lane.open === false ? to : null);
  const ended = lane.last_end_at ?? to;
  const segs = [
    [lane.asked_at, decided, 'hatch', 'waits for a decision', 'var(--wait-soft)'],
    // Of jobs that are not kept any more no start is known, so nothing is drawn of them.
    first &&
      (lane.first_start_at || hasQueued) && [
        decided,
        lane.first_start_at ?? to,
        '',
        'jobs queued',
        'var(--run-soft)',
      ],
    lane.first_start_at && [started, ended, 'on', 'jobs running', 'var(--run)'],
  ].filter((it) => it && it[1] > it[0]);
  const text = segs
    .map(([a, b, , what]) => `${what} ${when(a, now)} to ${when(b, now)}`)
    .join('; ');
  return h(
    'div.g',
    { 'data-key': lane.name },
    h(
      'span.lab',
      {},
      lane.name,
      h(
        'small',
        {},
        `${lane.jobs ? `${plural(lane.jobs, 'job')}, ` : ''}${plural(lane.answers, 'answer')}`,
      ),
    ),
    h(
      'div.lane',
      { role: 'img', 'aria-label': `${lane.name}: ${text}` },
      segs.map(([a, b, kind, what, color]) => {
        const part = (b - a) / (to - from);
        return h(
          'span',
          {
            class: `seg ${kind} ${part > 0.12 ? '' : 'slim'}`,
            title: `${what}: ${when(a, now)} to ${when(b, now)}, ${span(b - a)}`,
            style: { left: x(a), width: `${Math.max(0.3, 100 * part)}%`, '--c': color },
          },
          part > 0.12 ? what : '',
        );
      }),
      lane.assigned.slice(0, 40).map((it) =>
        h(
          'span.mark',
          {
            style: { left: x(it.at) },
            title: `${plural(it.jobs, 'job')} to ${it.queue}, ${when(it.at, now)}`,
          },
          icon('assign'),
        ),
      ),
    ),
  );
}

function rules(commands, x, now) {
  return h(
    'div.g',
    { 'data-key': 'rules' },
    h(
      'span.lab',
      {},
      'Rules',
      h(
        'small',
        {},
        `${plural(commands.length, 'command')}, ${plural(sumOf(commands, 'jobs'), 'job')}`,
      ),
    ),
    h(
      'div.lane',
      { role: 'img', 'aria-label': `${plural(commands.length, 'command')} of rules` },
      commands.slice(0, 100).map((it) =>
        h(
          'span.mark.sev-watch',
          {
            style: { left: x(it.at) },
            title: `${it.rule}, ${plural(it.jobs, 'job')} at ${it.queue}, ${when(it.at, now)}`,
          },
          icon('watch'),
        ),
      ),
    ),
  );
}

/** Requests as lanes; those that go the same way, close together, are one. */
function lanesOf(requests) {
  const lanes = [];
  const known = requests
    .map((it) => ({
      ...it,
      assigned: (it.assigned ?? []).filter((one) => one.jobs > 0),
    }))
    .map((it) => ({
      ...it,
      asked_at: it.asked_at ?? it.assigned?.[0]?.at ?? null,
    }));
  const isSeen = (it) => it.asked_at !== null && (it.open || it.assigned.length > 0);
  const order = known.filter(isSeen).sort((a, b) => a.asked_at - b.asked_at);
  for (const it of order) {
    const assigned = it.assigned ?? [];
    const before = lanes.at(-1);
    const isAlike =
      order.length > 8 &&
      before &&
      before.open === it.open &&
      before.assigned.length > 0 === assigned.length > 0 &&
      it.asked_at - before.last_asked_at < 3600000;
    if (!isAlike) {
      lanes.push({
        ...it,
        assigned: assigned.slice(),
        name: it.subject,
        first: it.subject,
        last_asked_at: it.asked_at,
      });
      continue;
    }
    before.name = `${before.first} to ${it.subject.split('/').at(-1)}`;
    before.last_asked_at = it.asked_at;
    before.jobs += it.jobs;
    before.answers += it.answers;
    before.assigned.push(...assigned);
    before.assigned.sort((a, b) => a.at - b.at);
    const starts = [before.first_start_at, it.first_start_at].filter(Boolean);
    before.first_start_at = starts.length ? Math.min(...starts) : null;
    before.last_end_at =
      before.last_end_at && it.last_end_at ? Math.max(before.last_end_at, it.last_end_at) : null;
  }
  return lanes;
}
