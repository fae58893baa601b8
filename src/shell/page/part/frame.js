// The frame around each view: the rail, the state of the process, its troubles, theme and pause.

import { fill, h, icon, morph, setText } from './dom.js';
import { count, plain, span, utc, when } from './format.js';
import { known, words } from './words.js';

/** A process without a cycle for so long is shown as one that stands still. */
const STILL = 10000;
/** A `now` that is further from this computer's clock is a simulated or replayed one. */
const OTHER_TIME = 86400000;
/** So many troubles are shown; the rest is on the page of keys and help. */
const TROUBLES = 3;

const byId = (id) => document.getElementById(id);

/** Views of the rail: name, title, whether a phone's bar leaves it out, whether a line is above. */
const RAIL = [
  ['now', 'Now'],
  ['waiting', 'Waiting'],
  ['sites', 'Sites'],
  ['queues', 'Queues'],
  ['usage', 'Usage', 'seldom'],
  ['throttles', 'Throttles', 'seldom'],
  ['decisions', 'Decisions', 'seldom', 'apart'],
  ['changes', 'Changes', 'seldom'],
  ['time', 'Time', 'seldom'],
  ['why', 'Why', 'seldom', 'apart'],
  ['whatif', 'What if', 'seldom'],
  ['more', 'More', 'more'],
];
/** The rail's view of a page of one thing. */
const PARENT = { queue: 'queues', site: 'sites', share: 'usage', user: 'usage', task: 'why' };

/** Views that a phone finds under More. */
export const SELDOM = RAIL.filter((it) => it[2] === 'seldom').map(([name, title]) => [name, title]);

/** How many things stand behind a view: {act: whether it is loud, n, text}. */
const badges = {};

/** Shows how many things stand behind a view of the rail. */
export function setBadge(view, n, { act = false, text = '' } = {}) {
  badges[view] = { n, act, text };
}

let current = '';

/** Writes the rail; the view that is open is marked. */
export function writeRail(view = current) {
  current = view;
  const open = PARENT[view] ?? view;
  const item = ([name, title, kind = '', apart = '']) => {
    const badge = badges[name];
    const text = name === 'queues' ? words().places : title;
    if (name === 'queues' && known.of === 'sites') return null;
    return h(
      'li',
      { class: `${kind} ${apart}`.trim() || null, 'data-key': name },
      h(
        'a',
        { href: `#${name}`, 'aria-current': name === open ? 'page' : null },
        icon(name),
        h('span', {}, text),
        badge?.n > 0 &&
          h(
            `span.n${badge.act ? '.act' : ''}`,
            {},
            badge.n > 9999 ? '9k+' : count(badge.n),
            h('span.unseen', {}, badge.text),
          ),
      ),
    );
  };
  morph(byId('views'), RAIL.map(item));
}

// --- The state of the process ------------------------------------------------------------------

let cycleSeen = { cycle: null, at: 0 };

/** Troubles of the process, worst first; of an older process from what it states. */
export function troublesOf(status) {
  if (Array.isArray(status.troubles)) return status.troubles;
  const state = status.state ?? {};
  const list = [];
  const push = (severity, rule, it) =>
    list.push(
      typeof it === 'string'
        ? { severity, rule, text: it, since: null }
        : { severity, rule, ...it },
    );
  (state.stuck ?? []).forEach((it) => push('act', 'stuck', it));
  (state.stale ?? []).forEach((it) => push('watch', 'stale', it));
  if (state.unsteady) push('watch', 'unsteady', state.unsteady);
  return list;
}

function standing(status, still) {
  const troubles = troublesOf(status);
  const role = status.leading ? 'leads' : 'stands by';
  if (!status.ready) return ['act', `${role}, not ready: ${status.reason ?? 'no reason stated'}`];
  if (still > STILL) return ['act', `${role}, no cycle for ${span(still)}`];
  const acts = troubles.filter((it) => it.severity === 'act').length;
  const rest = troubles.length - acts;
  if (acts) return ['act', `${role}, ${acts === 1 ? 'a trouble' : `${acts} troubles`}`];
  if (rest) return ['watch', `${role}, ${rest === 1 ? 'a thing' : `${rest} things`} to watch`];
  return ['fine', `${role}, ready`];
}

/** Writes what each answer about the state of the process brings. */
export function writeStatus(status) {
  const at = performance.now();
  if (cycleSeen.cycle !== status.cycle) cycleSeen = { cycle: status.cycle, at };
  const [severity, text] = standing(status, at - cycleSeen.at);
  const place = byId('standing');
  place.className = `standing sev-${severity}`;
  // Of the long reason the banner below has the rest.
  morph(place, icon(severity), h('span', {}, status.ready ? text : text.split(':')[0]));
  const now = utc(status.now);
  morph(byId('clock'), `${now.slice(0, 10)} `, h('b', {}, now.slice(11)), ' UTC');
  setText(byId('age'), ageOf(status.now));
  setText(byId('cycle'), `cycle ${count(status.cycle)}, epoch ${status.epoch ?? '–'}`);
  setText(byId('version'), status.version ? `${status.version} · ` : '');
  writeBanners(status, severity === 'act' && !status.ready ? text : '');
  writeDomain(status);
  setBadge('waiting', status.requests_open ?? 0, { text: ` ${words().open}` });
  writeRail();
}

function writeBanners(status, notReady) {
  const troubles = troublesOf(status);
  // Since when is by the clock of the process's host, not by its time.
  const row = ({ severity, text, rule, since }) =>
    h(
      `p.banner.${severity}`,
      { role: severity === 'act' ? 'alert' : null, 'data-key': `${rule} ${text}` },
      icon(severity),
      h('span.text', {}, plain(text, Date.now())),
      since && h('span.since', {}, `since ${when(since, Date.now())}`),
    );
  const reason = notReady && !troubles.some((it) => it.text && notReady.includes(it.text));
  const loud = troubles.filter((it) => it.severity !== 'note');
  const more = loud.length - TROUBLES;
  morph(
    byId('banners'),
    reason && row({ severity: 'act', rule: 'ready', text: notReady }),
    loud.slice(0, TROUBLES).map(row),
    more > 0 &&
      h(
        'p.banner',
        { 'data-key': 'more' },
        h('a', { href: '#more' }, `${more} more troubles of the process`),
      ),
  );
}

/** The name of the domain; where the process has several, a list to choose from. */
function writeDomain(status) {
  const all = status.domains ?? [];
  const list = byId('domains');
  setText(byId('domain'), status.domain ?? '');
  byId('domain').hidden = all.length > 1;
  byId('domain-label').hidden = all.length < 2;
  list.hidden = all.length < 2;
  if (list.hidden) return;
  const names = all.map((it) => it.domain);
  if ([...list.options].map((option) => option.value).join() !== names.join()) {
    fill(list, ...names.map((name) => h('option', { value: name })));
    list.value = status.domain;
  }
  for (const [at, it] of all.entries())
    setText(list.options[at], `${it.domain}${it.ready ? '' : ' (not ready)'}`);
}

/** Another domain is another address, so that it can be kept and sent. */
byId('domains').addEventListener('change', (event) => {
  location.search = new URLSearchParams({ domain: event.target.value });
});

function ageOf(now) {
  const age = Date.now() - now;
  if (Math.abs(age) > OTHER_TIME) return 'simulated or replayed time';
  return age < 0 ? `${span(-age)} ahead of this computer` : `${span(age)} ago`;
}

// --- Theme and pause ---------------------------------------------------------------------------

const THEMES = ['', 'light', 'dark'];

function writeTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  const text = `Theme: ${theme || 'system'}`;
  morph(byId('theme'), icon('theme'), h('span.unseen', {}, text));
  byId('theme').title = text;
}

byId('theme').addEventListener('click', () => {
  const now = THEMES.indexOf(document.documentElement.dataset.theme ?? '');
  const theme = THEMES[(now + 1) % THEMES.length];
  writeTheme(theme);
  try {
    localStorage.setItem('theme', theme);
  } catch {
    // Storage may be forbidden; then it holds until the page is left.
  }
});

/** Live updates: whether they are held, and since when by this computer's clock. */
export const paused = { since: null, changed: () => {} };

/** Whether they are held and were not, or since another time, when something was asked: its answer
 *  is not shown. */
export const isHeldSince = (before) => paused.since !== null && paused.since !== before;

function writePause() {
  const isHeld = paused.since !== null;
  byId('pause').setAttribute('aria-pressed', String(isHeld));
  byId('pause').title = isHeld
    ? `Held since ${utc(paused.since)} UTC by this computer's clock`
    : 'Holds what is shown';
  morph(
    byId('pause'),
    icon(isHeld ? 'play' : 'pause'),
    h('span.word', {}, isHeld ? 'Go on' : 'Pause'),
  );
  document.body.classList.toggle('held', isHeld);
  if (isHeld) setText(byId('age'), `held since ${utc(paused.since).slice(11)}`);
}

byId('pause').addEventListener('click', () => {
  paused.since = paused.since === null ? Date.now() : null;
  writePause();
  paused.changed();
});

writeTheme(document.documentElement.dataset.theme ?? '');
writePause();
