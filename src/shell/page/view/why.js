// Why: what is known of a task, job, user, group, queue or share, and the reasons.

import { ask } from '../part/ask.js';
import { SHAPES, badge, count, fill, h, moment, query, setText, utc, why } from '../part/dom.js';
import { decisionView, terms } from '../part/decision.js';
import { eventTable } from '../part/events.js';
import { table } from '../part/table.js';

/** A shown answer is asked for again this often, since a deferral is judged again some time. */
const AGAIN = 10000;

const EXAMPLES = [
  ['task', '12345', 'why its jobs went where they went, or wait'],
  ['task/chunk', '12345/3', 'one request of a task'],
  ['job', '6500000123', 'how each rule that gives commands stands to it'],
  ['user', 'Jane Physicist', 'whether and why the owner is throttled'],
  ['group', 'phys-higgs', 'the same of a working group'],
  ['queue', 'AGLT2', 'its jobs and pilots, and which filters reject it'],
  ['share', 'MC Default', 'what was decided for it'],
];

export class Why {
  constructor(main, { name, params, navigate }) {
    Object.assign(this, { main, name, navigate, kind: params.kind ?? '', at: params.at ?? '', chosen: 0 });
    this.asked = -Infinity;
    const searched = document.getElementById('name');
    searched.value = name;
    document.getElementById('kind').value = this.kind;
    this.asOf = h('p.total', { 'aria-live': 'off' });
    this.box = h('div');
    if (name) fill(this.box, h('p.total', { role: 'status' }, 'The reasons are being asked for.'));
    else this.help('Why is it so?', []);
    fill(main, this.box, this.asOf);
  }

  async tick(signal) {
    if (!this.name || performance.now() - this.asked < AGAIN || (this.at && this.asked > 0)) return;
    let answer;
    try {
      answer = await ask('explain', { name: this.name, kind: this.kind, at: this.at }, signal);
    } catch (error) {
      if (!error.isFinal) throw error;
      this.asked = performance.now();
      this.refused(error);
      return;
    }
    this.asked = performance.now();
    this.show(answer);
  }

  refused(error) {
    setText(this.asOf, '');
    this.seen = undefined;
    const named = this.kind ? `${this.kind} ${this.name}` : this.name;
    const lines = [h('p', {}, error.message, error.remedy && `; ${error.remedy}`)];
    this.help(error.status === 404 ? `Nothing is known of ${named}${this.at ? ` as of ${this.at}` : ''}` : 'That cannot be answered', lines);
  }

  /** What can be searched. */
  help(title, lines) {
    const cell = ([kind, name, what]) => h('tr', {}, h('td', {}, kind), h('td', {}, h('code', {}, name)), h('td', {}, what));
    fill(this.box, h('h2', {}, title), lines, h('h3', {}, 'What can be searched, in the field above'),
      h('div.sheet', {}, h('table', {}, h('thead', {}, h('tr', {}, ['kind', 'such as', 'shows'].map((it) => h('th', { scope: 'col' }, it)))),
        h('tbody', {}, EXAMPLES.map(cell)))),
      h('p', {}, 'The process answers from what it keeps. Older decisions are in the log: ',
        h('code', {}, `yardmaster explain ${this.name && !/[^\w./-]/.test(this.name) ? this.name : 'NAME'} --all`), ' reads them.'));
  }

  show(answer) {
    const { cycle, now, text, ...rest } = answer;
    const state = this.at ? 'As it was' : 'As of';
    setText(this.asOf, `${state} ${utc(now)} UTC, cycle ${count(cycle)}.${this.at ? '' : ' It is asked for again every 10 s.'}`);
    const seen = JSON.stringify(rest);
    if (seen === this.seen) return;
    const before = this.answer?.decisions?.[this.chosen]?.id;
    const found = answer.decisions.findIndex((it) => it.id === before);
    this.chosen = this.chosen > 0 && found > 0 ? found : 0;
    Object.assign(this, { seen, answer });
    const focus = this.box.contains(document.activeElement) ? document.activeElement.id : '';
    this.write();
    if (focus) document.getElementById(focus)?.focus();
  }

  write() {
    const { answer } = this;
    const { kind, name, headline, state, decisions, throttles, commands, job, queue, text } = answer;
    this.panel = h('div');
    fill(this.box,
      h('h1.headline', {}, h('span.what', {}, `${kind} `, h('b', {}, name)), badge(state), h('span', { role: 'status' }, headline)),
      this.at && h('p.past', {}, `As of ${this.at}. `, h('a', { href: why(name, { kind: this.kind }) }, 'Show it as it is now')),
      queue && queueView(queue),
      job && h('section', {}, h('h3', {}, 'How each rule stands to the job'), h('pre', { tabindex: '0' }, job.text)),
      throttles.length > 0 && h('section', {}, h('h3', {}, 'Throttles'), eventTable(throttles, 'Throttles')),
      this.answers(decisions), this.panel,
      commands.length > 0 && h('section', {}, h('h3', {}, 'Commands'), eventTable(commands, 'Commands')),
      text && h('details', {}, h('summary', {}, 'As the terminal shows it: ', h('code', {}, `yardmaster explain`)), h('pre', { tabindex: '0' }, text)));
    this.pick();
  }

  /** The answers that can be chosen from. */
  answers(decisions) {
    if (decisions.length < 2) return null;
    const subjects = new Set(decisions.map((it) => `${it.subject} ${it.attempt}`)).size;
    const option = (it, at) => h('option', { value: String(at), selected: at === this.chosen },
      `${utc(it.at)}  ${it.subject}  ${it.headline}`);
    const select = h('select', { id: 'answers', onchange: (event) => {
      this.chosen = Number(event.target.value);
      this.pick();
    } }, decisions.map(option));
    const of = subjects > 1 ? ` of ${count(subjects)} requests` : '';
    return h('p.controls', {}, h('label', {}, `${count(decisions.length)} answers${of}, newest first: `, select));
  }

  pick() {
    const decision = this.answer.decisions[this.chosen];
    if (decision) fill(this.panel, decisionView(decision, this.answer.now));
    else fill(this.panel);
  }
}

function queueView(queue) {
  const status = queue.status || 'no fact';
  const rejecting = queue.rejecting ?? [];
  const all = rejecting.reduce((most, it) => Math.max(most, it.decisions), 1);
  const columns = [
    { name: 'filter', value: (it) => it.filter },
    { name: 'decisions', number: true, value: (it) => it.decisions, cell: (it) => count(it.decisions) },
    { name: 'share of the most', value: (it) => it.decisions,
      cell: (it) => h('span.flow', {}, h('span.cut', { style: { width: `${(100 * it.decisions) / all}%` } })) },
  ];
  return h('section', {}, terms([
    ['status', `${SHAPES[queue.status] ?? '?'} ${status}`], ['site', queue.site],
    ['running', `${count(queue.running)} jobs, ${count(queue.running_cores)} cores`],
    ['queued', `${count(queue.queued)} jobs, ${count(queue.queued_cores)} cores`],
    ['transferring', `${count(queue.transferring)} jobs`], ['reserved', `${count(queue.promised)} jobs assigned and not seen yet`],
    ['pilots', `${count(queue.pilots_running)} running, ${count(queue.pilots_submitted)} submitted`],
    ['slots', queue.slots === null ? 'not stated' : count(queue.slots)],
    ['last pilot (UTC)', queue.last_pilot_at ? moment(queue.last_pilot_at) : 'none seen'],
    ['last start of a job (UTC)', queue.last_start_at ? moment(queue.last_start_at) : 'none seen'],
  ]), h('p', {}, h('a', { href: `#decisions${query({ queue: queue.queue })}` }, 'Decisions that chose it'), ' · ',
    h('a', { href: `#time${query({ by: 'queue', name: queue.queue })}` }, 'Its counters as of a moment')),
  h('h3', {}, 'Filters that rejected it in the decisions that are kept'),
  rejecting.length ? table({ label: 'Filters that rejected the queue', columns, rows: rejecting })
    : h('p', {}, 'None: no decision that is kept lists a rejection of this queue.'));
}
