// The page: which view is shown, the one loop that asks each second, the header, search and theme.

import { Refused, ask, hasToken, setToken } from './part/ask.js';
import { count, fill, h, setText, span, utc, why } from './part/dom.js';
import { Now } from './view/now.js';

const EVERY = 1000;
/** Between two tries while nothing answers: this, doubled each time, up to the most. */
const RETRY = 1000;
const RETRY_MOST = 30000;
/** A process without a cycle for so long is shown as one that stands still. */
const STILL = 10000;
/** A `now` that is further from this computer's clock is a simulated or replayed one. */
const OTHER_TIME = 86400000;

/** Views; all but the first are loaded when they are opened. */
const VIEWS = { now: Now, why: null, decisions: null, time: null };

async function load(name) {
  const module = await import(`./view/${name}.js`);
  VIEWS[name] = module[name[0].toUpperCase() + name.slice(1)];
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
    view: name in VIEWS ? name : 'now',
    name: target,
    params: Object.fromEntries(new URLSearchParams(params)),
  };
}

async function open() {
  leaving.abort();
  leaving = new AbortController();
  const mine = leaving;
  const place = where();
  view = null;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${place.view}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const title = place.view[0].toUpperCase() + place.view.slice(1);
  document.title = `${place.name || title} - Yardmaster`;
  try {
    if (!VIEWS[place.view]) await load(place.view);
  } catch {
    if (mine !== leaving) return;
    fill(
      main,
      h('p', {}, 'This view could not be loaded: the process does not answer. '),
      h('button', { type: 'button', onclick: open }, 'Try again'),
    );
    return;
  }
  if (mine !== leaving) return;
  const replace = (hash) => history.replaceState(null, '', hash);
  view = new VIEWS[place.view](main, { ...place, replace, kick });
  if (status) view.status?.(status);
  kick();
}

// --- The loop ------------------------------------------------------------------------------------

let status = null;
let lostAt = 0;
let wait = RETRY;

/** Asks at once. */
function kick() {
  isKicked = true;
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
  const [asked, ticked] = await Promise.allSettled([ask('status', {}, signal), mine?.tick(signal)]);
  if (signal.aborted) return null;
  if (asked.status === 'fulfilled') {
    status = asked.value;
    writeStatus();
    mine?.status?.(status);
  }
  if (ticked.status === 'fulfilled') ticked.value?.();
  return asked.reason ?? ticked.reason ?? null;
}

async function loop() {
  for (;;) {
    await seen();
    isKicked = false;
    const began = performance.now();
    const { signal } = leaving;
    const failed = await tick(signal);
    if (!failed) {
      if (!signal.aborted) answered();
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
    `${whatFailed(error)} What is shown is as of ${since}; it is asked again after ${span(wait)}. `,
    h('button', { type: 'button', onclick: kick }, 'Ask now'),
  );
  trouble.hidden = false;
  const before = wait;
  wait = Math.min(2 * wait, RETRY_MOST);
  await pause(before);
}

// --- The header ----------------------------------------------------------------------------------

const cells = {};
let cycleSeen = { cycle: null, at: 0 };

function term(name, title) {
  const value = h('dd');
  document.getElementById('process').append(h('div', { title }, h('dt', {}, name), value));
  cells[name] = value;
}

function writeStatus() {
  if (!cells.state) {
    term('state', 'Whether this process leads and publishes, or stands by');
    term('ready', 'As /readyz answers');
    term('cycle', 'Step of the loop; it advances while the process works');
    term('now (UTC)', 'The time of the last cycle, and its age by the clock of this computer');
    term('open requests', 'Requests that wait for an answer');
    term('version');
  }
  const at = performance.now();
  if (cycleSeen.cycle !== status.cycle) cycleSeen = { cycle: status.cycle, at };
  const still = at - cycleSeen.at;
  writeDomain();
  write('state', status.leading ? '● leading' : '○ standby', '');
  write(
    'ready',
    status.ready ? '✓ ready' : `✕ not ready: ${status.reason ?? 'no reason stated'}`,
    status.ready ? '' : 'bad',
  );
  write(
    'cycle',
    `${count(status.cycle)}${still > STILL ? `, none for ${span(still)}` : ''}`,
    still > STILL ? 'bad' : '',
  );
  write('now (UTC)', `${utc(status.now)} (${ageOf(status.now)})`, '');
  write('open requests', count(status.requests_open), '');
  write('version', status.version ?? '', '');
}

/** The name of the domain; where the process has several, a list to choose from. */
function writeDomain() {
  const all = status.domains ?? [];
  const list = document.getElementById('domains');
  const name = document.getElementById('domain');
  setText(name, status.domain ?? '');
  name.hidden = all.length > 1;
  list.hidden = all.length < 2;
  if (list.hidden) return;
  const names = all.map((it) => it.domain);
  if ([...list.options].map((option) => option.value).join() !== names.join()) {
    fill(list, ...names.map((name) => h('option', { value: name })));
    list.value = status.domain;
  }
  for (const [at, it] of all.entries()) {
    const trouble = it.ready ? '' : ' (not ready)';
    setText(list.options[at], `${it.domain}${trouble}`);
  }
}

/** Another domain is another address, so that it can be kept and sent. */
document.getElementById('domains').addEventListener('change', (event) => {
  location.search = new URLSearchParams({ domain: event.target.value });
});

function write(name, text, kind) {
  setText(cells[name], text);
  cells[name].className = kind;
}

function ageOf(now) {
  const age = Date.now() - now;
  if (Math.abs(age) > OTHER_TIME) return 'simulated or replayed time';
  return age < 0 ? `${span(age)} ahead of this computer` : `${span(age)} ago`;
}

// --- Token, search, theme, keys ------------------------------------------------------------------

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
  isKicked = true;
});

search.addEventListener('submit', (event) => {
  event.preventDefault();
  const name = nameField.value.trim();
  const to = name ? why(name, { kind: kindField.value }) : '#why';
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

const THEMES = ['', 'light', 'dark'];
const themeButton = document.getElementById('theme');

function writeTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  setText(themeButton, { '': 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' }[theme]);
}

themeButton.addEventListener('click', () => {
  const theme =
    THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? '') + 1) % THEMES.length];
  writeTheme(theme);
  try {
    localStorage.setItem('theme', theme);
  } catch {
    // Storage may be forbidden; then it holds until the page is left.
  }
});

writeTheme(document.documentElement.dataset.theme ?? '');
addEventListener('hashchange', open);
open();
loop();
