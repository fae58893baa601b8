// Decisions: what was decided, throttled and commanded, newest first, as it is published.

import { ask } from '../part/ask.js';
import { lead } from '../part/card.js';
import { fill, h, query, setText } from '../part/dom.js';
import { head, row } from '../part/events.js';
import { count } from '../part/format.js';
import { words } from '../part/words.js';

/** Rows that are kept; the page of a busy day must not grow. */
const ROWS = 300;
const KINDS = ['decision', 'throttle', 'command'];
const WHATS = [
  'assign',
  'defer',
  'reject',
  'set',
  'lift',
  'rebroker',
  'reassign',
  'kill',
  'fail',
  'kill_workflow',
  'drain',
  'boost',
  'profile',
  'alert',
  'undrain',
];
/** Fields, and the parameter of the API that each is. */
const FIELDS = ['queue', 'gshare', 'user', 'task', 'rule', 'name'];
const TITLES = { gshare: 'share', rule: 'policy or rule', name: 'any name' };
const titleOf = (name) =>
  ({ queue: words().place, task: words().task })[name] ?? TITLES[name] ?? name;

export class Decisions {
  constructor(main, { params, replace, kick }) {
    this.replace = replace;
    this.kick = kick;
    const kinds = params.kind ? params.kind.split(',') : KINDS;
    this.kinds = KINDS.map((kind) =>
      h('input', { type: 'checkbox', value: kind, checked: kinds.includes(kind) }),
    );
    const whats = params.what && !WHATS.includes(params.what) ? [...WHATS, params.what] : WHATS;
    this.what = h(
      'select',
      {},
      h('option', { value: '' }, 'any'),
      whats.map((it) =>
        h('option', { value: it, selected: it === params.what }, it.replaceAll('_', ' ')),
      ),
    );
    this.fields = FIELDS.map((name) =>
      h('input', {
        type: 'text',
        name,
        value: params[name] ?? '',
        size: '12',
        list: name === 'queue' ? 'names' : null,
      }),
    );
    this.note = h('p.note', { 'aria-live': 'off' }, 'The last ones are being asked for.');
    this.body = h('tbody');
    this.restart();
    fill(
      main,
      lead({
        title: 'Decisions',
        says: 'What was decided, throttled and commanded, as it is published.',
      }),
      h(
        'details.filters',
        { open: innerWidth > 760 },
        h('summary', {}, 'Filters'),
        this.controls(),
      ),
      h(
        'section.card',
        { 'aria-label': 'Decisions' },
        h('header', {}, this.note),
        h(
          'div.scroll',
          {
            role: 'group',
            'aria-label': 'Decisions, throttles and commands, newest first',
            tabindex: '0',
          },
          h('table.events.cards', {}, head(), this.body),
        ),
      ),
    );
    this.body.addEventListener('click', (event) => this.open(event));
  }

  controls() {
    const labelled = (input, text) => h('label', {}, text, ' ', input);
    let soon;
    const change = () => {
      clearTimeout(soon);
      soon = setTimeout(() => this.change(), 300);
    };
    return h(
      'form.controls.filters',
      {
        'aria-label': 'Which are shown',
        onsubmit: (event) => event.preventDefault(),
        oninput: change,
      },
      h(
        'span.kinds',
        { role: 'group', 'aria-label': 'Kinds' },
        this.kinds.map((box) => h('label', {}, box, ` ${box.value}s`)),
      ),
      labelled(this.what, 'what'),
      this.fields.map((input) => labelled(input, titleOf(input.name))),
      h('button.btn', { type: 'button', onclick: () => this.clear() }, 'Clear'),
    );
  }

  params() {
    const kinds = this.kinds.filter((box) => box.checked).map((box) => box.value);
    const fields = Object.fromEntries(this.fields.map((input) => [input.name, input.value.trim()]));
    return {
      kind: kinds.length === KINDS.length ? '' : kinds.join(','),
      what: this.what.value,
      ...fields,
    };
  }

  /** Whether no kind is chosen, so that nothing is asked for. */
  get isNothing() {
    return this.kinds.every((box) => !box.checked);
  }

  clear() {
    this.kinds.forEach((box) => {
      box.checked = true;
    });
    [this.what, ...this.fields].forEach((input) => {
      input.value = '';
    });
    this.change();
  }

  change() {
    this.replace(`#decisions${query(this.params())}`);
    this.restart();
    this.kick();
  }

  restart() {
    this.last = undefined;
    this.asked = this.isNothing ? null : this.params();
    fill(this.body);
  }

  async tick(signal) {
    if (this.isNothing) {
      this.say('No kind is chosen, so nothing is shown.');
      return;
    }
    const { asked } = this;
    let answer;
    try {
      answer = await ask('decisions', { ...asked, after: this.last ?? '', limit: ROWS }, signal);
    } catch (error) {
      if (!error.isFinal) throw error;
      this.say(`${error.message}; ${error.remedy}`);
      return;
    }
    if (asked !== this.asked) return;
    this.show(answer);
  }

  show({ items, last, more }) {
    const isFirst = this.last === undefined;
    this.last = last ?? this.last;
    if (items.length) {
      const rows = items.map(row);
      if (more && !isFirst)
        rows.push(
          h('tr.gap', {}, h('td', { colspan: '7' }, 'More were published here than are shown.')),
        );
      if (this.isEmpty) fill(this.body);
      this.body.prepend(...rows);
      while (this.body.childElementCount > ROWS) this.body.lastElementChild.remove();
    }
    this.isEmpty = !items.length && (isFirst || this.isEmpty);
    this.sum(more && isFirst);
  }

  sum(isCut) {
    const rows = this.isEmpty ? 0 : this.body.childElementCount;
    if (!rows && this.last !== undefined) {
      const isFiltered = Object.values(this.params()).some((value) => value !== '');
      this.say(
        isFiltered
          ? 'Nothing that is kept fits the fields above; what comes is shown.'
          : 'Nothing was decided, throttled or commanded yet; what comes is shown.',
      );
      return;
    }
    if (isCut !== undefined) this.isCut = isCut || (this.isCut && this.last !== undefined);
    setText(this.note, `The newest ${count(rows)} are shown, at most ${ROWS}.`);
  }

  /** Says why nothing is shown. */
  say(why) {
    setText(this.note, why);
  }

  /** A click anywhere in a row leads where its link leads, unless text is being marked. */
  open(event) {
    if (event.target.closest('a') || String(getSelection())) return;
    event.target.closest('tr')?.querySelector('a')?.click();
  }
}
