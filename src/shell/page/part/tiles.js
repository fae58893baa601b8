// Queues as tiles: made once, then only what changed is written, at once where it is seen.

import { fill, h, icon, setText } from './dom.js';
import { count } from './format.js';
import { firstWord, hasWholes, hrefOf, isPool, statusShape, why, words } from './words.js';

/** Orders, by the name that the address has. */
export const SORTS = {
  name: { text: 'name', key: (it) => it.queue },
  running: { text: 'running, most first', key: (it) => -it.running },
  queued: { text: 'queued, most first', key: (it) => -it.queued },
  backlog: {
    text: 'queued per running, most first',
    key: (it) => -it.queued / Math.max(1, it.running),
  },
  pilots: { text: 'pilots, most first', key: (it) => -it.pilots_running - it.pilots_submitted },
  silent: { text: 'last pilot, longest ago first', key: (it) => it.last_pilot_at ?? 0 },
};

/** The least size of a tile, with its gap, as css/tiles.css has it; px. */
const TILE_WIDTH = 198;
const TILE_HEIGHT = 76;
/** The first tiles are painted within this; ms. */
const PAINT = 30;
/** Tiles that are not on the screen are written in turn, each once in so many times. */
const TURNS = 8;

/** Whether a queue is shown. */
export function matches(queue, { q, status, busy }) {
  if (status && (queue.status || 'none') !== status) return false;
  if (busy && !queue.running && !queue.queued) return false;
  return !q || queue.queue.toLowerCase().includes(q) || queue.site.toLowerCase().includes(q);
}

function ordered(queues, sort) {
  const { key } = SORTS[sort] ?? SORTS.name;
  const keyed = queues.map((queue) => [key(queue), queue.queue, queue]);
  keyed.sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1));
  return keyed.map(([, , queue]) => queue);
}

/** How many tiles fill the window. */
function screenful() {
  const columns = Math.max(1, Math.floor(innerWidth / TILE_WIDTH));
  return columns * Math.ceil(innerHeight / TILE_HEIGHT);
}

/** Figures of a tile: [label, value]. What a domain does not have, another takes the place of. */
function figuresOf(queue) {
  const pilots = queue.pilots_submitted ? `+${count(queue.pilots_submitted)}` : '';
  const last = hasWholes()
    ? [
        words().cores,
        queue.pledged_cores === null
          ? count(queue.running_cores)
          : `${count(queue.running_cores)}/${count(queue.pledged_cores)}`,
      ]
    : ['pilots', count(queue.pilots_running) + pilots];
  const second = isPool() ? ['offers', count(queue.offers)] : ['queued', count(queue.queued)];
  return [['running', count(queue.running)], second, last];
}

function pattern() {
  return h(
    'li.tile',
    {},
    h(
      'a',
      {},
      h(
        'span.title',
        {},
        h('span.mark', { 'aria-hidden': 'true' }),
        h('span.name'),
        h('span.status'),
      ),
      h('span.figures', {}, ' '),
      h('span.labels'),
      h('span.part', { 'aria-hidden': 'true' }),
    ),
  );
}

/** Tiles in a list. `params` go into each tile's link: one of the past leads to the past. */
export class Tiles {
  constructor(params = {}) {
    this.params = params;
    this.list = h('ul.tiles', { 'aria-label': 'Queues' });
    this.pattern = pattern();
    this.tiles = new Map();
    this.order = [];
    this.turn = 0;
    this.watch = new IntersectionObserver((entries) => this.look(entries), { rootMargin: '80px' });
    this.list.addEventListener('keydown', (event) => this.move(event));
    this.list.addEventListener('focusin', (event) => this.name(event));
  }

  /**
   * Shows queues, and returns those that fit the filter. The order is changed where `reorder` says
   * so, or where others are shown. The first time a screenful comes first, the rest once it is
   * painted.
   */
  show(queues, filter, sort, reorder) {
    const shown = queues.filter((queue) => matches(queue, filter));
    this.turn += 1;
    const first = screenful();
    if (this.turn > 1 || shown.length <= first) {
      this.put(shown, sort, reorder);
      return shown;
    }
    this.put(ordered(shown, sort).slice(0, first), sort, true);
    const rest = () => this.turn === 1 && this.put(shown, sort, true);
    requestAnimationFrame(() => setTimeout(rest, PAINT));
    return shown;
  }

  put(shown, sort, reorder) {
    shown.forEach((queue, at) => {
      const tile = this.tiles.get(queue.queue) ?? this.make(queue);
      tile.latest = queue;
      if (tile.isSeen || (at + this.turn) % TURNS === 0) write(tile);
    });
    const names = new Set(shown.map((queue) => queue.queue));
    const same = this.order.length === names.size && this.order.every((name) => names.has(name));
    if (!same || reorder) this.arrange(ordered(shown, sort));
  }

  /** Tiles that came into sight get what they missed. */
  look(entries) {
    for (const { target, isIntersecting } of entries) {
      const tile = this.tiles.get(target.dataset.queue);
      tile.isSeen = isIntersecting;
      if (isIntersecting) write(tile);
    }
  }

  make(queue) {
    const item = this.pattern.cloneNode(true);
    const link = item.firstChild;
    const [title, figures, labels, part] = link.children;
    const [mark, name, status] = title.children;
    link.href = this.params.at
      ? why(queue.queue, { kind: 'queue', ...this.params })
      : hrefOf(isPool() ? 'site' : 'queue', queue.queue);
    link.title = queue.queue;
    name.textContent = queue.queue;
    item.dataset.queue = queue.queue;
    const tile = {
      item,
      mark,
      status,
      part,
      labels,
      figures: figures.firstChild,
      written: {},
      latest: queue,
      isSeen: true,
    };
    this.tiles.set(queue.queue, tile);
    this.watch.observe(item);
    return tile;
  }

  arrange(queues) {
    const order = queues.map((queue) => queue.queue);
    const isSame = order.length === this.order.length;
    if (isSame && order.every((name, at) => this.order[at] === name)) return;
    this.order = order;
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    this.list.replaceChildren(...order.map((name) => this.tiles.get(name).item));
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  /** The link that has the focus is read out with what its figures are. */
  name({ target }) {
    const tile = this.tiles.get(target.closest('li')?.dataset.queue);
    if (!tile) return;
    const { queue, status } = tile.latest;
    const figures = figuresOf(tile.latest).map(([label, value]) => `${value} ${label}`);
    target.setAttribute('aria-label', `${queue}, ${status || 'no fact'}: ${figures.join(', ')}`);
  }

  /** Arrow keys lead from tile to tile; Home and End to the first and the last. */
  move(event) {
    const items = this.list.children;
    const at = [...items].indexOf(event.target.closest('li'));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const first = items[0].offsetTop;
    let columns = 1;
    while (columns < items.length && items[columns].offsetTop === first) columns += 1;
    const steps = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + columns,
      ArrowUp: at - columns,
      Home: 0,
      End: items.length - 1,
    };
    const to = items[steps[event.key]];
    if (!to) return;
    event.preventDefault();
    to.firstChild.focus();
  }

  /** Says why there are no tiles, in place of them. */
  empty(...why) {
    this.order = [];
    fill(this.list, h('li.empty', {}, ...why));
  }
}

/** Writes what changed since a tile was written last. */
function write(tile) {
  const { latest, written } = tile;
  const changed = (key) => written[key] !== latest[key];
  if (changed('status')) writeStatus(tile, latest.status);
  const work = changed('running') || changed('queued');
  if (work) writePart(tile, latest);
  const figures = figuresOf(latest);
  const text = figures.map(([, value]) => value).join('\t');
  if (tile.figures.data !== text) tile.figures.data = text;
  const labels = figures.map(([label]) => label).join('\t');
  setText(tile.labels, labels);
  tile.written = latest;
}

function writeStatus(tile, status) {
  tile.item.dataset.status = statusShape(status);
  fill(tile.mark, icon(statusShape(status)));
  tile.status.textContent = firstWord(status) || 'no fact';
  tile.status.title = status;
  tile.status.classList.toggle('unseen', statusShape(status) === 'online');
}

/** The running part of running and queued; -1 where there are none. */
function writePart(tile, queue) {
  const isWhole = hasWholes() && queue.pledged_cores;
  const used = isWhole ? queue.running_cores : queue.running;
  const all = isWhole ? Math.max(used, queue.pledged_cores) : used + queue.queued;
  const part = all ? Math.round((50 * used) / all) * 2 : -1;
  if (tile.partWritten === part) return;
  tile.partWritten = part;
  tile.part.classList.toggle('none', part < 0);
  tile.part.style.backgroundSize = `${part}% 100%`;
}

/** Sums over queues, as one line. */
export function totals(element, shown, all) {
  const sum = (key) => count(shown.reduce((total, queue) => total + (queue[key] ?? 0), 0));
  const of = shown.length === all ? count(all) : `${count(shown.length)} of ${count(all)}`;
  const beside = isPool() ? `${sum('offers')} live offers` : `${sum('queued')} queued`;
  const pilots = `, ${sum('transferring')} transferring; ${sum('pilots_running')} pilots running, ${sum('pilots_submitted')} submitted`;
  setText(
    element,
    `${of} ${words().place}${all === 1 ? '' : 's'}: ${sum('running')} jobs running on ${sum('running_cores')} ` +
      `${words().cores}, ${beside}${hasWholes() ? '' : pilots}`,
  );
}
