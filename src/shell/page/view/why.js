// Why: what is known of a task, job, user, group, queue or share, and the reasons.

import { ask } from '../part/ask.js';
import { card } from '../part/card.js';
import { fill, h, setText } from '../part/dom.js';
import { decisionView } from '../part/decision.js';
import { badge, eventTable } from '../part/events.js';
import { count, plain, utc } from '../part/format.js';
import { jobView, ownerView, queueView, requestsView } from '../part/known.js';
import { capital } from '../part/waits.js';
import { hrefOf, isPool, known, why, words } from '../part/words.js';

/** A shown answer is asked for again this often, since a deferral is judged again some time. */
const AGAIN = 10000;
/** Earlier answers to one request that can be chosen from. */
const EARLIER = 100;

const EXAMPLES = [
  ['task', '12345', 'why its jobs went where they went, or wait', 'queues'],
  ['task/chunk', '12345/3', 'one request of a task', 'queues'],
  ['job', '6500000123', 'why it waits, and how each rule that gives commands stands to it'],
  ['user', 'Jane Physicist', 'whether and why the owner is throttled'],
  ['group', 'phys-higgs', 'the same of a working group'],
  ['site', 'AGLT2', 'its queues, and which filters reject them', 'queues'],
  ['queue', 'AGLT2', 'its jobs and pilots, and which filters reject it', 'queues'],
  ['site', 'T2_DE_DESY', 'its jobs and offers, and why it gets none', 'sites'],
  ['queue', 'grid.example.org/long', 'its jobs, and which filters reject it', 'cluster queues'],
  ['slot offer', 'glidein-4711', 'which jobs got it', 'sites'],
  ['share', 'MC Default', 'what was decided for it', 'queues'],
];
/** Kinds that have a page of their own. */
const PAGES = ['task', 'queue', 'site', 'share', 'user', 'group'];

export class Why {
  constructor(main, { name, params, replace }) {
    Object.assign(this, {
      name,
      replace,
      kind: params.kind ?? '',
      at: params.at ?? '',
      id: params.id ?? '',
    });
    this.asked = -Infinity;
    document.getElementById('name').value = name;
    document.getElementById('kind').value = this.kind;
    this.asOf = h('p.note');
    this.box = h('div.stack');
    if (name)
      fill(
        this.box,
        h('h1', {}, name),
        h('p.note', { role: 'status' }, 'The reasons are being asked for.'),
      );
    else this.help('Why is it so?');
    fill(main, this.box, this.asOf);
  }

  async tick(signal) {
    const isPast = this.at && this.asked > 0;
    if (!this.name || isPast || performance.now() - this.asked < AGAIN) return;
    let answer;
    try {
      answer = await ask('explain', { name: this.name, kind: this.kind, at: this.at }, signal);
      if (this.id && this.shown?.id !== this.id) await this.pin(answer, signal);
    } catch (error) {
      if (!error.isFinal) throw error;
      this.asked = performance.now();
      this.refused(error);
      return;
    }
    this.asked = performance.now();
    if (isNothing(answer))
      this.refused({
        status: 404,
        message: `nothing is known of ${this.kind} ${JSON.stringify(this.name)}`,
      });
    else this.show(answer);
  }

  /** The decision that the address names; one that is not kept any more gives way to the newest. */
  async pin({ decisions }, signal) {
    this.shown = decisions.find((it) => it.id === this.id);
    if (this.shown) return;
    try {
      ({ decision: this.shown } = await ask(
        `decisions/${encodeURIComponent(this.id)}`,
        {},
        signal,
      ));
    } catch (error) {
      if (!error.isFinal) throw error;
      this.id = '';
    }
  }

  refused(error) {
    setText(this.asOf, '');
    this.seen = undefined;
    const named = this.kind ? `${this.kind} ${this.name}` : this.name;
    const title =
      error.status === 404
        ? `Nothing is known of ${named}${this.at ? ` as of ${this.at}` : ''}`
        : 'That cannot be answered';
    this.help(title, h('p', {}, error.message, error.remedy && `; ${error.remedy}`));
  }

  /** What can be searched. */
  help(title, lines) {
    const cell = ([kind, name, what]) =>
      h('tr', {}, h('td', {}, kind), h('td', {}, h('code', {}, name)), h('td', {}, what));
    const name = this.name && !/[^\w./-]/.test(this.name) ? this.name : 'NAME';
    const heads = ['kind', 'such as', 'shows'].map((it) => h('th', { scope: 'col' }, it));
    const fitting = EXAMPLES.filter(([, , , of]) => !of || of === (known.of || 'queues'));
    fill(
      this.box,
      h('div.lead', {}, h('h1', {}, title), lines),
      card(
        { title: 'What can be searched', sub: 'in the field above' },
        h(
          'div.scroll',
          { role: 'group', 'aria-label': 'What can be searched', tabindex: '0' },
          h('table', {}, h('thead', {}, h('tr', {}, heads)), h('tbody', {}, fitting.map(cell))),
        ),
      ),
      h(
        'p.note',
        {},
        'The process answers from what it keeps. Older decisions are in the log: ',
        h('code', {}, `yardmaster explain ${name} --all`),
        ' reads them.',
      ),
    );
  }

  show(answer) {
    const { cycle, now, ...rest } = answer;
    delete rest.text;
    const state = this.at ? 'As it was' : 'As of';
    setText(
      this.asOf,
      `${state} ${utc(now)} UTC, cycle ${count(cycle)}.` +
        (this.at ? '' : ' It is asked for again every 10 s.'),
    );
    const seen = JSON.stringify(rest);
    if (seen === this.seen) return;
    Object.assign(this, { seen, answer });
    const { decisions } = answer;
    if (!this.id) this.shown = decisions.find((it) => isSame(it, this.shown)) ?? decisions[0];
    const focus = this.box.contains(document.activeElement) ? document.activeElement.id : '';
    this.write();
    if (focus) document.getElementById(focus)?.focus();
  }

  write() {
    const {
      kind,
      name,
      headline,
      state,
      decisions,
      throttles,
      commands,
      job,
      queue,
      owner,
      requests,
      text,
    } = this.answer;
    this.panel = h('div');
    this.earlier = h('div');
    const { now } = this.answer;
    const page = hrefOf(kind === 'queue' && isPool() ? 'site' : kind, name);
    const hasPage =
      PAGES.includes(kind) && !page.startsWith('#why') && !(kind === 'task' && name.includes('/'));
    const sentence = plain(headline, now);
    const isRepeated = decisions.length === 1 && decisions[0].headline === sentence;
    const called = kind === 'task' ? words().task : kind;
    fill(
      this.box,
      h(
        'div.lead.headline',
        {},
        h(
          'p.crumb',
          {},
          h('a', { href: '#why' }, 'Why'),
          h('span', { 'aria-hidden': 'true' }, '/'),
          called,
        ),
        h(
          'div.chips',
          {},
          h(
            'h1',
            {},
            h('span.what', {}, kind === 'task' ? `${capital(called)} ` : '', h('b', {}, name)),
          ),
          badge(state),
          hasPage && !this.at && h('a', { href: page }, `${called} page`),
        ),
        !isRepeated && h('p.says', { role: 'status' }, `${capital(sentence)}.`),
      ),
      this.at &&
        h(
          'p.past',
          {},
          `As of ${this.at}. `,
          h('a', { href: why(name, { kind: this.kind }) }, 'Show it as it is now'),
        ),
      queue && queueView(queue, now),
      owner && ownerView(owner),
      job && jobView(job),
      throttles.length > 0 && card({ title: 'Throttles' }, eventTable(throttles, 'Throttles')),
      requests?.length > 1 && requestsView(requests, now),
      this.answers(decisions),
      this.earlier,
      this.panel,
      commands.length > 0 && card({ title: 'Commands' }, eventTable(commands, 'Commands')),
      text &&
        h(
          'details',
          {},
          h('summary', {}, 'As the terminal shows it: ', h('code', {}, 'yardmaster explain')),
          h('pre', { tabindex: '0' }, text),
        ),
    );
    this.pick(this.shown);
  }

  /** The requests whose newest answers can be chosen from. */
  answers(decisions) {
    if (decisions.length < 2) return null;
    const option = (it) =>
      h(
        'option',
        { value: it.id, selected: it === this.shown },
        `${utc(it.at)}  ${it.subject}  ${it.headline}`,
      );
    const select = h(
      'select',
      {
        id: 'answers',
        onchange: () => {
          this.id = '';
          this.pick(decisions.find((it) => it.id === select.value));
        },
      },
      decisions.map(option),
    );
    return h(
      'p.controls',
      {},
      h(
        'label',
        {},
        `${count(decisions.length)} requests, the newest answer of each, newest first: `,
        select,
      ),
    );
  }

  /** Shows a decision. */
  pick(decision) {
    this.shown = decision;
    fill(this.earlier);
    fill(this.panel, decision && decisionView(decision, this.answer.now));
    if (!decision) return;
    const newest = this.answer.decisions.find((it) => isSame(it, decision));
    if (newest && newest.id !== decision.id) {
      fill(
        this.earlier,
        h(
          'p.past',
          {},
          'This is an earlier answer to the request. ',
          h('button.btn', { type: 'button', onclick: () => this.unpin(newest) }, 'Show the newest'),
        ),
      );
    } else if (decision.ordinal > 1) {
      fill(
        this.earlier,
        h(
          'p.controls',
          {},
          h(
            'button.btn',
            { type: 'button', id: 'earlier', onclick: () => this.askEarlier(decision) },
            'Earlier answers to this request',
          ),
        ),
      );
    }
  }

  unpin(newest) {
    this.id = '';
    this.replace(why(this.name, { kind: this.kind, at: this.at }));
    this.pick(newest);
  }

  async askEarlier(decision) {
    try {
      const { items } = await ask('decisions', {
        kind: 'decision',
        name: decision.subject,
        to: this.at,
        limit: EARLIER,
      });
      const mine = items.filter((it) => it.subject === decision.subject && it.id !== decision.id);
      if (!mine.length) {
        fill(
          this.earlier,
          h(
            'p.note',
            { role: 'status' },
            'No earlier answer is kept; the log has them: yardmaster explain --all.',
          ),
        );
        return;
      }
      const select = h(
        'select',
        {
          id: 'answers-before',
          onchange: () => {
            location.hash = why(this.name, { kind: this.kind, at: this.at, id: select.value });
          },
        },
        h('option', { value: '' }, 'choose'),
        mine.map((it) => h('option', { value: it.id }, `${utc(it.at)}  ${it.text}`)),
      );
      fill(
        this.earlier,
        h(
          'p.controls',
          {},
          h(
            'label',
            {},
            `${count(mine.length)} earlier answers to ${decision.subject}, newest first: `,
            select,
          ),
        ),
      );
      select.focus();
    } catch (error) {
      fill(
        this.earlier,
        h('p.note', { role: 'status' }, `The earlier answers could not be read: ${error.message}.`),
      );
    }
  }
}

/** Whether two decisions answer the same request. */
function isSame(one, other) {
  return Boolean(other) && one.subject === other.subject && one.attempt === other.attempt;
}

/** Whether an answer holds nothing, as when a name is asked for under the wrong kind. */
function isNothing({ decisions, throttles, commands, requests = [], job, queue, owner, kind }) {
  const lists = [decisions, throttles, commands, requests];
  return kind !== 'share' && lists.every((it) => !it.length) && !job && !queue && !owner;
}
