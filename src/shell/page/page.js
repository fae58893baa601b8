// The page: which view is shown, the one loop that asks each second, search and keys.

import { Refused, ask, hasToken, setToken } from './part/ask.js';
import { fill, h, query, setText } from './part/dom.js';
import { span, utc } from './part/format.js';
import { isHeldSince, paused, writeRail, writeStatus } from './part/frame.js';
import { found, known, learn } from './part/words.js';
import { Now } from './view/now.js';

const EVERY = 1000;
/** Between two tries while nothing answers: this, doubled each time, up to the most. */
const RETRY = 1000;
const RETRY_MOST = 30000;
/** A view that is empty for so long says why. */
const SLOW = 300;

/** Views; all but the first are loaded when they are opened. Some share a file. */
const VIEWS = {
  now: 'now',
  waiting: 'waiting',
  sites: 'sites',
  queues: 'queues',
  throttles: 'throttles',
  usage: 'usage',
  decisions: 'decisions',
  changes: 'changes',
  time: 'time',
  why: 'why',
  whatif: 'whatif',
  more: 'more',
  queue: 'place',
  site: 'place',
  share: 'owner',
  user: 'owner',
  task: 'task',
};
const loaded = { now: Now };

async function load(name) {
  if (!loaded[name]) {
    const module = await import(`./view/${VIEWS[name]}.js`);
    loaded[name] = module[name[0].toUpperCase() + name.slice(1)];
  }
  return loaded[name];
}

const main = document.getElementById('main');
const trouble = document.getElementById('trouble');
const search = document.getElementById('search');
const nameField = document.getElementById('name');
const kindField = document.getElementById('kind');

let view = null;
let leaving = new AbortController();
let wake = () => {};
let isKicked = false;

// --- Views ---------------------------------------------------------------------------------------

/** The address's fragment: `#view/NAME?a=b`. */
function where() {
  const [path, params = ''] = location.hash.slice(1).split(/\?(.*)/s);
  const [name, ...rest] = path.split('/');
  let target = rest.join('/');
  try {
    target = decodeURIComponent(target);
  } catch {
    // A per cent sign that stands for itself.
  }
  return {
    view: Object.hasOwn(VIEWS, name) ? name : 'now',
    name: target,
    params: Object.fromEntries(new URLSearchParams(params)),
    all: new URLSearchParams(params),
  };
}

/** Before the queues had a view of their own, their filters were part of the address of Now. */
function moved({ view: name, params }) {
  const isOld = name === 'now' && ['q', 'status', 'busy', 'sort'].some((it) => it in params);
  if (isOld) history.replaceState(null, '', `#queues${query(params)}`);
}

async function open(isMoved) {
  leaving.abort();
  leaving = new AbortController();
  const mine = leaving;
  moved(where());
  const place = where();
  view = null;
  writeRail(place.view);
  const title =
    place.view === 'whatif' ? 'What if' : place.view[0].toUpperCase() + place.view.slice(1);
  document.title = `${place.name || title} - Yardmaster`;
  let View;
  try {
    View = await load(place.view);
  } catch (error) {
    if (mine !== leaving) return;
    console.error(error);
    fill(
      main,
      h('p', {}, 'This view could not be loaded: the process does not answer. '),
      h('p', {}, h('button.btn', { type: 'button', onclick: () => open() }, 'Try again')),
    );
    return;
  }
  if (mine !== leaving) return;
  const replace = (hash) => history.replaceState(null, '', hash);
  fill(main);
  if (document.activeElement === document.body && isMoved) main.focus({ preventScroll: true });
  main.className = `view-${place.view}`;
  view = new View(main, { ...place, replace, kick, open: () => open() });
  // What takes long says that it is being asked for.
  setTimeout(() => mine === leaving && !main.hasChildNodes() && view.write?.(), SLOW);
  if (status) view.status?.(status);
  kick();
}

// --- The loop ------------------------------------------------------------------------------------

let status = null;
let lostAt = 0;
let wait = RETRY;
let isNew = true;

/** Asks at once, also while updates are held. */
function kick() {
  isKicked = true;
  isNew = true;
  wake();
}

function pause(ms) {
  if (isKicked) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** Resolves when the page can be seen: one that is hidden asks for nothing. */
function seen() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener('visibilitychange', resolve, { once: true });
  }).then(seen);
}

/** Asks for the state and for what the view shows; both are written at once, in one layout. */
async function tick(signal) {
  const mine = view;
  const before = paused.since;
  const [asked, ticked] = await Promise.allSettled([ask('status', {}, signal), mine?.tick(signal)]);
  if (signal.aborted || isHeldSince(before)) return null;
  if (asked.status === 'fulfilled') {
    status = asked.value;
    writeStatus(status);
    mine?.status?.(status);
  }
  try {
    if (ticked.status === 'fulfilled') ticked.value?.();
  } catch (error) {
    return error;
  }
  return asked.reason ?? ticked.reason ?? null;
}

/** The names that the search offers, and the domain's words, where the view did not ask for them. */
async function names(signal) {
  if (!known.of) {
    learn(await ask('queues', {}, signal));
    // A view that is made once was made in the words of queues.
    const isWrong = known.of !== 'queues' && view && !view.draw;
    if (isWrong && !main.contains(document.activeElement)) open();
  }
  const list = document.getElementById('names');
  if (list.childElementCount !== known.queues.size)
    fill(
      list,
      [...known.queues].map((name) => h('option', { value: name })),
    );
}

async function loop() {
  for (;;) {
    await seen();
    const isHeld = paused.since !== null && !isNew;
    isKicked = false;
    isNew = false;
    const began = performance.now();
    const { signal } = leaving;
    const failed = isHeld ? null : await tick(signal);
    if (!failed) {
      if (!signal.aborted && !isHeld) answered();
      if (!signal.aborted && status && performance.getEntriesByName('shown').length)
        names(signal).catch(() => {});
      await pause(Math.max(EVERY / 4, EVERY - (performance.now() - began)));
    } else if (failed.status === 401) {
      await askToken(failed);
    } else {
      await retry(failed);
    }
  }
}

function answered() {
  lostAt = 0;
  wait = RETRY;
  trouble.hidden = true;
  document.body.classList.remove('stale');
  if (!performance.getEntriesByName('shown').length) {
    performance.mark('shown');
    requestAnimationFrame(() => setTimeout(() => performance.mark('shown-painted')));
  }
}

function whatFailed(error) {
  if (!(error instanceof Refused)) return `The page has an error: ${error.message}.`;
  const what = error.status ? 'The process could not answer' : 'The process does not answer';
  return `${what}: ${error.message}${error.remedy ? `; ${error.remedy}` : ''}.`;
}

async function retry(error) {
  lostAt ||= Date.now();
  document.body.classList.add('stale');
  if (!(error instanceof Refused)) console.error(error);
  const since = `${utc(lostAt)} UTC (by the clock of this computer)`;
  fill(
    trouble,
    h(
      'span.text',
      {},
      `${whatFailed(error)} What is shown is as of ${since}; it is asked again after ${span(wait)}. `,
    ),
    h('button.btn', { type: 'button', onclick: kick }, 'Ask now'),
  );
  trouble.hidden = false;
  const before = wait;
  wait = Math.min(2 * wait, RETRY_MOST);
  await pause(before);
}

paused.changed = () => paused.since === null && kick();

// --- Token, search, keys ------------------------------------------------------------------------

async function askToken(error) {
  const dialog = document.getElementById('ask-token');
  const field = document.getElementById('token');
  if (hasToken())
    setText(
      document.getElementById('token-why'),
      `The token was refused: ${error.message}; ${error.remedy}`,
    );
  if (!dialog.open) dialog.showModal();
  field.focus();
  await new Promise((resolve) => {
    dialog.addEventListener('close', resolve, { once: true });
  });
}

document.getElementById('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const field = document.getElementById('token');
  setToken(field.value.trim());
  field.value = '';
  document.getElementById('ask-token').close();
  kick();
});

search.addEventListener('submit', (event) => {
  event.preventDefault();
  const name = nameField.value.trim();
  const to = name ? found(name, kindField.value) : '#why';
  if (location.hash === to) open();
  else location.hash = to;
});

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches('input, select, textarea');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    nameField.focus();
    nameField.select();
  } else if (event.key === 'Escape' && event.target === nameField) {
    main.focus();
  }
});

document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});

addEventListener('hashchange', () => {
  scrollTo(0, 0);
  open(true);
});
open();
loop();
