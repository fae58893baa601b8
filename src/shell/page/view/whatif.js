// What if: settings that are tried on the present state, and what would be decided otherwise.
// Nothing is published, and nothing that runs is changed.

import { Refused, ask } from '../part/ask.js';
import { bar } from '../part/chart.js';
import { card, empty, facts, lead, missing, rows } from '../part/card.js';
import { decisionView } from '../part/decision.js';
import { fill, h, query } from '../part/dom.js';
import { badge } from '../part/events.js';
import { count, plural } from '../part/format.js';
import { isPool, linkTo, queueLink, whyLink, words } from '../part/words.js';

/** Kinds of settings: their text, and what stands in the fields. */
const KINDS = {
  status: { text: 'status of queue', name: 'name' },
  parameter: { text: 'parameter', name: 'NQUEUED_SAT_CAP', value: '400' },
  fact: { text: 'a record’s field', name: 'topic.key.field', value: 'value' },
};
const WINDOWS = ['1h', '6h', '24h'];
/** So many settings can be tried at once. */
const MOST = 8;

/** Statuses of a domain's queues, {field, values}; of a pool there are none. */
const statuses = () => words().statuses;

/** `queue.X.status=offline` as a row of the form; null if it is no setting. */
function parsed(text) {
  // A name may have the sign that stands before the value.
  const field = statuses()?.field.replace('.', '\\.') ?? '';
  const [, queue, status] = new RegExp(`^queue\\.(.+)\\.${field}=([^=]*)$`, 's').exec(text) ?? [];
  if (field && queue) return { kind: 'status', name: queue, value: status };
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (!name) return null;
  const [, parameter] = /^parameter\.(.+)$/s.exec(name) ?? [];
  return parameter ? { kind: 'parameter', name: parameter, value } : { kind: 'fact', name, value };
}

function written({ kind, name, value }) {
  if (kind === 'status') return `queue.${name}.${statuses().field}=${value}`;
  return kind === 'parameter' ? `parameter.${name}=${value}` : `${name}=${value}`;
}

/** A setting to begin with. */
const first = () =>
  statuses()
    ? { kind: 'status', name: '', value: statuses().values[0] }
    : { kind: 'parameter', name: '', value: '' };

/** A word for a shell. */
const quoted = (text) =>
  /^[\w.,:/=@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export class Whatif {
  constructor(main, { params, all, replace }) {
    Object.assign(this, { replace, busy: null });
    const given = all.getAll('set').map(parsed).filter(Boolean);
    this.sets = given.length ? given : [first()];
    this.task = h('input', {
      type: 'search',
      value: params.task ?? '',
      placeholder: 'all requests',
      'aria-label': 'Only this task or request',
      size: '18',
    });
    this.window = h(
      'select',
      { 'aria-label': 'Requests of the last' },
      WINDOWS.map((it) => h('option', { selected: it === (params.window ?? '1h') }, it)),
    );
    this.list = h('div.stack.sets');
    this.answer = h('div.stack', { role: 'status' });
    fill(
      main,
      lead({
        title: 'What if',
        says: 'Requests are judged once more on the present state, with these settings. Nothing is published, and nothing that runs is changed.',
      }),
      h(
        'section.card',
        { 'aria-label': 'Settings' },
        h(
          'form',
          { onsubmit: (event) => this.submit(event) },
          h('div.pad', {}, this.list),
          h(
            'div.controls',
            {},
            h('label', {}, 'for ', this.task),
            h('label', {}, 'asked in the last ', this.window),
            h('button.btn', { type: 'button', onclick: () => this.more() }, 'One more setting'),
            h('button.btn.first', {}, 'Try it'),
          ),
        ),
      ),
      this.answer,
    );
    this.write();
    if (given.length) this.try();
    else
      fill(
        this.answer,
        card(
          { label: 'Answer' },
          empty(
            'Nothing is tried yet',
            isPool()
              ? 'A pool answers offers, and has no request that could be judged; what is tried is shown as a command, which judges the offers of a log.'
              : `Such as: a ${words().place} goes offline, a parameter doubles. The answer says which ${words().request}s would go elsewhere.`,
          ),
        ),
      );
  }

  tick() {}

  write() {
    fill(
      this.list,
      this.sets.map((set, at) => this.row(set, at)),
    );
  }

  row(set, at) {
    const { value } = KINDS[set.kind];
    const values = set.kind === 'status' ? statuses().values : null;
    const changed = (key) => (event) => {
      set[key] = event.target.value.trim();
    };
    const kind = h(
      'select',
      {
        'aria-label': `Setting ${at + 1}`,
        onchange: (event) => {
          this.sets[at] = {
            kind: event.target.value,
            name: '',
            value: event.target.value === 'status' ? statuses().values[0] : '',
          };
          this.write();
        },
      },
      Object.entries(KINDS)
        .filter(([name]) => name !== 'status' || statuses())
        .map(([name, it]) => h('option', { value: name, selected: name === set.kind }, it.text)),
    );
    const field = h('input', {
      type: 'search',
      required: true,
      value: set.name,
      placeholder: KINDS[set.kind].name,
      'aria-label': `Name of setting ${at + 1}`,
      list: set.kind === 'status' ? 'names' : null,
      oninput: changed('name'),
    });
    const to = values
      ? h(
          'select',
          { 'aria-label': `Value of setting ${at + 1}`, onchange: changed('value') },
          [...new Set([...values, set.value])]
            .filter(Boolean)
            .map((it) => h('option', { selected: it === set.value }, it)),
        )
      : h('input', {
          type: 'text',
          required: true,
          value: set.value,
          placeholder: value,
          'aria-label': `Value of setting ${at + 1}`,
          size: '10',
          oninput: changed('value'),
        });
    return h(
      'p.controls',
      {},
      kind,
      field,
      h('span', {}, 'becomes'),
      to,
      this.sets.length > 1 &&
        h(
          'button.btn',
          {
            type: 'button',
            'aria-label': `Remove setting ${at + 1}`,
            onclick: () => this.drop(at),
          },
          '×',
        ),
    );
  }

  more() {
    if (this.sets.length < MOST) this.sets.push(first());
    this.write();
    this.list.lastChild?.querySelector('input')?.focus();
  }

  drop(at) {
    this.sets.splice(at, 1);
    this.write();
  }

  submit(event) {
    event.preventDefault();
    this.try();
  }

  /** Asks; an answer that a newer question overtook is not shown. */
  async try() {
    this.busy?.abort();
    const mine = new AbortController();
    this.busy = mine;
    const set = this.sets.filter((it) => it.name && it.value).map(written);
    const task = this.task.value.trim();
    const asked = { set, task, window: task ? '' : this.window.value };
    this.replace(`#whatif${query(asked)}`);
    fill(this.answer, card({ label: 'Answer' }, h('p.empty', {}, 'It is being judged.')));
    try {
      const answer = await ask('what-if', asked, mine.signal);
      if (this.busy === mine) fill(this.answer, drawn(answer), terminal(set));
    } catch (error) {
      if (this.busy !== mine) return;
      if (!(error instanceof Refused)) throw error;
      fill(this.answer, card({ label: 'Answer' }, refused(error)), terminal(set));
    }
  }
}

/** A process that has no such path leaves it to the terminal. */
function refused(error) {
  if (error.status === 404)
    return empty('This process tries no settings itself', 'The command below does, over the log.');
  return missing(error, 'what would be decided');
}

/** The same over the log, in a terminal. */
function terminal(set) {
  const settings = set.map((it) => `--set ${quoted(it)}`).join(' ');
  return card(
    { title: 'Over the log', sub: 'each recorded request, judged once more with these settings' },
    h('div.pad', {}, h('pre', { tabindex: '0' }, `yardmaster replay --dir DIR ${settings}`)),
  );
}

/** The answer: how many go elsewhere, then where, then each. */
function drawn(answer) {
  const {
    looked_at: looked,
    changed,
    before = {},
    after = {},
    queues = [],
    changes = [],
    left_out: left,
  } = answer;
  const pair = (name, key) =>
    before[key] !== undefined && [
      name,
      `${count(before[key])} → ${count(after[key])}`,
      'before, then',
    ];
  const headline =
    changed === undefined
      ? null
      : changed
        ? `${plural(changed, words().request)} of ${count(looked)} would be answered otherwise`
        : `None of ${plural(looked, words().request)} would be answered otherwise`;
  return [
    headline &&
      h(
        'div.lead',
        {},
        h('h2.outcome', {}, headline),
        h(
          'p',
          {},
          left > 0 && [
            h('b', {}, `Only the newest ${count(looked)} were judged, `),
            `${count(left)} older ones are left out. `,
          ],
          'Each is judged as if it were the only one.',
        ),
      ),
    before.assigned !== undefined &&
      facts(
        [
          pair('Assigned', 'assigned'),
          pair('Deferred', 'deferred'),
          pair('Rejected', 'rejected'),
          pair('Jobs placed', 'jobs'),
        ],
        'Before and then',
      ),
    queues.length > 0 && places(queues),
    changes.length > 0 && each(changes, changed),
    answer.decision_after && [
      h('h2.outcome', {}, 'Then'),
      decisionView(answer.decision_after, answer.now),
    ],
    answer.decision_before &&
      h(
        'details',
        {},
        h('summary', {}, 'As it is: ', answer.decision_before.headline),
        decisionView(answer.decision_before, answer.now),
      ),
  ];
}

function places(queues) {
  const max = Math.max(...queues.flatMap((it) => [it.jobs_before, it.jobs_after]), 1);
  const off = (it) => it.jobs_after - it.jobs_before;
  return card(
    { title: 'Jobs by place', sub: 'the mark is what it gets as it is' },
    h(
      'ul.bars',
      {},
      queues.map((it) =>
        h(
          'li',
          {},
          h(
            'span.line',
            {},
            queueLink(it.queue),
            h(
              'span.r',
              {},
              h('b', {}, count(it.jobs_after)),
              ` instead of ${count(it.jobs_before)}, ${off(it) > 0 ? '+' : '−'}${count(Math.abs(off(it)))}`,
            ),
          ),
          bar([{ value: it.jobs_after, color: 'var(--run)', name: 'then' }], max, {
            tick: it.jobs_before,
            label: `${it.queue}: ${it.jobs_before} as it is, ${it.jobs_after} then`,
          }),
        ),
      ),
    ),
  );
}

function each(changes, all) {
  const side = (it) =>
    it
      ? [
          badge(it.outcome),
          h(
            'span.sub',
            {},
            it.queues?.length
              ? it.queues.map((one) => `${one.queue}: ${count(one.jobs)}`).join(', ')
              : it.headline,
          ),
        ]
      : '–';
  return card(
    {
      title: 'What would be answered otherwise',
      sub:
        all > changes.length ? `the first ${count(changes.length)} of ${count(all)}` : count(all),
      key: 'changes',
    },
    rows({
      label: 'What would be answered otherwise',
      rows: changes,
      columns: [
        {
          name: words().request,
          kind: 'c1',
          cell: (it) => [
            it.task ? linkTo('task', it.task, it.subject) : whyLink(it.subject),
            h('span.sub', {}, linkTo('share', it.gshare)),
            h('span.sub', {}, linkTo('user', it.user)),
          ],
        },
        { name: 'jobs', number: true, kind: 'c2', cell: (it) => count(it.jobs) },
        { name: 'as it is', cell: (it) => side(it.before) },
        { name: 'then', cell: (it) => side(it.after) },
      ],
    }),
  );
}
