// Queues (of other domains: clusters) as tiles: all of them, filtered and ordered, each second.

import { ask } from '../part/ask.js';
import { lead, missing, card } from '../part/card.js';
import { fill, h, query } from '../part/dom.js';
import { count } from '../part/format.js';
import { SORTS, Tiles, totals } from '../part/tiles.js';
import { learn, statusShape, words } from '../part/words.js';

/** An order that follows figures would jump each second; it is made again this often. */
const REORDER = 10000;
/** Shapes of statuses, for lists that hold text only. */
const MARKS = {
  online: '●',
  standby: '○',
  test: '△',
  brokeroff: '◇',
  paused: '‖',
  offline: '✕',
  unknown: '?',
};

export class Queues {
  constructor(main, { params, replace }) {
    Object.assign(this, { replace, ordered: 0, last: null, known: '' });
    this.filter = { q: params.q ?? '', status: params.status ?? '', busy: params.busy === '1' };
    this.sort = params.sort in SORTS ? params.sort : 'name';
    this.tiles = new Tiles();
    this.total = h('p.total', {}, 'They are being asked for.');
    this.statuses = h('select', { 'aria-label': 'Status', onchange: () => this.change() });
    this.head = h('div');
    this.writeHead();
    fill(main, this.head, this.controls(), this.tiles.list);
  }

  writeHead() {
    const { places } = words();
    if (this.title === places) return;
    this.title = places;
    fill(this.head, lead({ title: places, says: '' }), this.total);
  }

  controls() {
    this.q = h('input', {
      type: 'search',
      value: this.filter.q,
      placeholder: 'part of a name',
      'aria-label': 'Those with this in the name of queue, site or group',
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
      { 'aria-label': 'Which, in which order', onsubmit: (event) => event.preventDefault() },
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
    const written = JSON.stringify(counts);
    if (written === this.known && this.statuses.childElementCount) return;
    this.known = written;
    fill(
      this.statuses,
      h('option', { value: '' }, 'any status'),
      Object.keys(counts)
        .sort()
        .map((name) => {
          const text = name === 'none' ? 'no fact' : name;
          const mark = MARKS[statusShape(name)];
          return h(
            'option',
            { value: name, selected: name === chosen },
            `${mark} ${text} (${counts[name]})`,
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
      `#queues${query({
        q: this.filter.q,
        status: this.filter.status,
        busy: this.filter.busy ? 1 : '',
        sort: this.sort === 'name' ? '' : this.sort,
      })}`,
    );
    this.ordered = 0;
    if (this.last) this.show();
  }

  async tick(signal) {
    let asked;
    try {
      asked = await ask('queues', {}, signal);
    } catch (error) {
      if (error.status !== 503) throw error;
      return () =>
        fill(this.tiles.list, h('li', {}, card({ label: 'State' }, missing(error, 'the queues'))));
    }
    return () => {
      this.last = asked;
      learn(asked);
      this.show();
    };
  }

  show() {
    const { queues } = this.last;
    this.writeHead();
    this.writeStatuses(queues);
    const at = performance.now();
    const isQuiet = this.sort === 'name' || !this.tiles.list.matches(':hover, :focus-within');
    const reorder = this.ordered === 0 || (isQuiet && at - this.ordered > REORDER);
    if (reorder) this.ordered = at;
    const shown = this.tiles.show(queues, this.filter, this.sort, reorder);
    totals(this.total, shown, queues.length);
    const { place } = words();
    if (!queues.length)
      this.tiles.empty(
        `No ${place} is known yet: no record that names one was read, and no job. `,
        h('code', {}, 'yardmaster import'),
        ' brings facts; ',
        h('code', {}, 'yardmaster demo'),
        ' simulates a grid.',
      );
    else if (!shown.length)
      this.tiles.empty(`None of the ${count(queues.length)} has what the fields above ask for.`);
  }
}
