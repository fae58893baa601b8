// Now: the grid as tiles by queue, each second.

import { ask } from '../part/ask.js';
import { SHAPES, count, figure, fill, h, query, setText, whyLink } from '../part/dom.js';
import { SORTS, Tiles, totals } from '../part/tiles.js';

/** An order that follows figures would jump each second; it is made again this often. */
const REORDER = 10000;

/** Names of queues, for the search field. */
function suggest(queues) {
  const list = document.getElementById('queues');
  if (list.childElementCount === queues.length) return;
  fill(
    list,
    queues.map((queue) => h('option', { value: queue.queue })),
  );
}

export class Now {
  constructor(main, { params, replace }) {
    this.replace = replace;
    this.filter = { q: params.q ?? '', status: params.status ?? '', busy: params.busy === '1' };
    this.sort = params.sort in SORTS ? params.sort : 'name';
    this.tiles = new Tiles();
    this.ordered = 0;
    this.last = null;
    this.total = h('p.total', {}, 'The queues are being asked for.');
    this.statuses = h('select', {
      'aria-label': 'Status of the queue',
      onchange: () => this.change(),
    });
    this.known = '';
    this.shares = h(
      'details.shares',
      { ontoggle: () => this.askShares().catch(() => {}) },
      h('summary', {}, 'Use of the shares, and their targets'),
      h('div'),
    );
    fill(
      main,
      h('h1.unseen', {}, 'Now'),
      this.controls(),
      this.total,
      this.tiles.list,
      this.shares,
    );
  }

  controls() {
    this.q = h('input', {
      type: 'search',
      value: this.filter.q,
      placeholder: 'part of a name',
      'aria-label': 'Queues or sites with this in their name',
      oninput: () => this.change(),
    });
    this.busy = h('input', {
      type: 'checkbox',
      checked: this.filter.busy,
      onchange: () => this.change(),
    });
    this.order = h(
      'select',
      { onchange: () => this.change() },
      Object.entries(SORTS).map(([name, { text }]) =>
        h('option', { value: name, selected: name === this.sort }, text),
      ),
    );
    this.writeStatuses([]);
    return h(
      'form.controls',
      { 'aria-label': 'Which queues, in which order', onsubmit: (event) => event.preventDefault() },
      this.q,
      this.statuses,
      h('label', {}, this.busy, ' with jobs'),
      h('label', { title: 'An order by figures is made again every 10 s' }, 'order ', this.order),
    );
  }

  writeStatuses(queues) {
    const counts = {};
    for (const { status } of queues) counts[status || 'none'] = (counts[status || 'none'] ?? 0) + 1;
    const chosen = this.filter.status;
    if (chosen && !(chosen in counts)) counts[chosen] = 0;
    const names = Object.keys(counts).sort();
    const known = JSON.stringify(counts);
    if (known === this.known && this.statuses.childElementCount) return;
    this.known = known;
    fill(
      this.statuses,
      h('option', { value: '' }, 'any status'),
      names.map((name) => {
        const [shape, text] = name === 'none' ? ['?', 'no fact'] : [SHAPES[name] ?? '?', name];
        return h(
          'option',
          { value: name, selected: name === chosen },
          `${shape} ${text} (${counts[name]})`,
        );
      }),
    );
  }

  change() {
    this.filter = {
      q: this.q.value.trim().toLowerCase(),
      status: this.statuses.value,
      busy: this.busy.checked,
    };
    this.sort = this.order.value;
    this.replace(
      `#now${query({
        q: this.filter.q,
        status: this.filter.status,
        busy: this.filter.busy ? 1 : '',
        sort: this.sort === 'name' ? '' : this.sort,
      })}`,
    );
    this.ordered = 0;
    if (this.last) this.show();
  }

  /** Asks; what comes back writes the answer. */
  async tick(signal) {
    const asked = await ask('queues', {}, signal);
    if (this.shares.open) await this.askShares(signal);
    return () => {
      this.last = asked;
      this.show();
    };
  }

  show() {
    const { queues } = this.last;
    // What is not seen waits until the first tiles are painted.
    if (this.isMarked) suggest(queues);
    this.writeStatuses(queues);
    const at = performance.now();
    const isQuiet = this.sort === 'name' || !this.tiles.list.matches(':hover, :focus-within');
    const reorder = this.ordered === 0 || (isQuiet && at - this.ordered > REORDER);
    if (reorder) this.ordered = at;
    const shown = this.tiles.show(queues, this.filter, this.sort, reorder);
    totals(this.total, shown, queues.length);
    if (!queues.length) {
      this.tiles.empty(
        'No queue is known yet: no record of topic queue was read, and no job that names one. ',
        h('code', {}, 'yardmaster import cric'),
        ' brings the queues; ',
        h('code', {}, 'yardmaster demo'),
        ' simulates a grid.',
      );
    } else if (!shown.length) {
      this.tiles.empty(
        `None of the ${count(queues.length)} queues has what the fields above ask for.`,
      );
    }
    this.mark();
  }

  /** When tiles were made, and when they had been painted: to be measured. */
  mark() {
    if (this.isMarked) return;
    this.isMarked = true;
    performance.mark('tiles');
    requestAnimationFrame(() => setTimeout(() => performance.mark('tiles-painted')));
  }

  async askShares(signal) {
    if (!this.shares.open) return;
    const { shares } = await ask('shares', {}, signal);
    const box = this.shares.lastChild;
    if (!shares.length) {
      setText(
        box,
        'No share is known: no record of topic share was read (yardmaster import shares).',
      );
      return;
    }
    const percent = (part) => `${figure(Math.round(part * 1000) / 10)} %`;
    const most = Math.max(...shares.flatMap((it) => [it.use, it.target]), 0.01);
    const bar = (part, name) =>
      h(`span.meter.${name}`, { style: { width: `${(100 * part) / most}%` } });
    fill(
      box,
      h(
        'table',
        {},
        h(
          'thead',
          {},
          h(
            'tr',
            {},
            ['share', 'use', 'target', 'use above target'].map((it) =>
              h('th', { scope: 'col' }, it),
            ),
          ),
        ),
        h(
          'tbody',
          {},
          shares.map((it) =>
            h(
              'tr',
              {},
              h('td', {}, whyLink(it.gshare, { kind: 'share' })),
              h('td.number', {}, percent(it.use)),
              h('td.number', {}, percent(it.target)),
              h(
                'td.meters',
                { 'aria-hidden': 'true' },
                bar(it.use, 'use'),
                bar(it.target, 'target'),
              ),
            ),
          ),
        ),
      ),
    );
  }
}
