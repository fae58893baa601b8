// The words of a domain, and where the name of a thing leads. A domain states in its answers what
// its rows are: queues, sites of a pool, clusters; no other domain's words are used for it.

import { h, query } from './dom.js';

const FLAVOURS = {
  queues: {
    place: 'queue',
    places: 'Queues',
    group: 'cloud',
    request: 'request',
    task: 'task',
    cores: 'cores',
    waits: 'wait',
    open: 'requests that wait',
    waiting: 'Requests waiting',
    queued: 'Jobs queued',
    wholes: false,
    // Where a queue's record has its status, and which there are; the first takes no jobs.
    statuses: { field: 'status', values: ['offline', 'online', 'brokeroff', 'test'] },
  },
  sites: {
    place: 'site',
    places: 'Sites',
    group: 'tier',
    request: 'workflow',
    task: 'workflow',
    cores: 'cores',
    waits: 'idle',
    open: 'idle jobs',
    waiting: 'Workflows waiting',
    queued: 'Jobs idle',
    wholes: true,
  },
  'cluster queues': {
    place: 'queue',
    places: 'Clusters',
    group: 'country',
    request: 'job',
    task: 'job',
    cores: 'CPUs',
    waits: 'wait',
    open: 'jobs that wait',
    waiting: 'Jobs without a queue',
    queued: 'Jobs queued',
    wholes: true,
    statuses: { field: 'batch.status', values: ['inactive', 'active'] },
  },
};

/** What is known of the domain: what a row is, and the names that the search offers. */
export const known = { of: '', queues: new Set(), sites: new Set(), shares: new Set() };

/** Learns names and words from an answer about queues. */
export function learn({ of, queues = [] }) {
  known.of = of ?? 'queues';
  if (known.queues.size === queues.length) return;
  known.queues = new Set(queues.map((it) => it.queue));
  known.sites = new Set(queues.map((it) => it.site).filter(Boolean));
}

/** The domain's words. */
export const words = () => FLAVOURS[known.of] ?? FLAVOURS.queues;
export const isPool = () => known.of === 'sites';
export const isGrid = () => known.of === 'cluster queues';
/** Whether rows have a size of their own (a pledge, CPUs), so that their use is a part of it. */
export const hasWholes = () => words().wholes;

/** The most that one of some queues has of something; of clusters they share CPUs and disk. */
export function mostOf(queues, key) {
  const known = queues.map((it) => it[key]).filter((it) => it !== null && it !== undefined);
  return known.length ? Math.max(...known) : null;
}

const VIEWS = {
  queue: 'queue',
  cluster: 'queue',
  site: 'site',
  share: 'share',
  user: 'user',
  group: 'user',
  task: 'task',
  workflow: 'task',
};

/** The fragment that shows why something is as it is. */
export const why = (name, params = {}) => `#why/${encodeURIComponent(name)}${query(params)}`;

/** The fragment of a thing's page; of what has none, of its reasons. */
export function hrefOf(kind, name) {
  if (kind === 'process' || kind === 'topic') return '#more';
  if (kind === 'command') return `#decisions${query({ kind: 'command' })}`;
  if (!name) return '#waiting';
  if (kind === 'request' || (kind === 'task' && isGrid())) return why(name);
  const isSite = kind === 'site' && !isPool() && !known.sites.has(name) && known.queues.has(name);
  const view = isSite ? 'queue' : VIEWS[kind];
  if (!view) return why(name, { kind });
  return `#${view}/${encodeURIComponent(name)}${kind === 'group' ? '?kind=group' : ''}`;
}

/** Of a distinguished name the common name; all of it is the link's title. */
const shown = (name) => /\/CN=([^/]+)$/.exec(name)?.[1] ?? name;

/** A link to a thing's page; nothing if it has no name. */
export function linkTo(kind, name, text = shown(name)) {
  return name
    ? h('a', { href: hrefOf(kind, name), title: text === name ? null : name }, text)
    : null;
}

/** A link to the reasons of something; nothing if it has no name. */
export const whyLink = (name, params) => (name ? h('a', { href: why(name, params) }, name) : null);

/** A link to a queue. A candidate may be `QUEUE/TYPE`; it leads to the queue. */
export function queueLink(name) {
  if (!name) return null;
  const queue = known.queues.has(name) ? name : name.split('/')[0];
  return linkTo(isPool() ? 'site' : 'queue', queue, name);
}

/** Where what was searched leads. */
export function found(name, kind) {
  if (!kind && known.queues.has(name)) return hrefOf(isPool() ? 'site' : 'queue', name);
  if (!kind && known.sites.has(name)) return hrefOf('site', name);
  if (!kind && known.shares.has(name)) return hrefOf('share', name);
  const isTask = !kind && /^\d{1,9}$/.test(name);
  if (isTask) return hrefOf('task', name);
  const hasPage = ['task', 'user', 'queue', 'site', 'share'].includes(kind);
  return hasPage && !(kind === 'task' && name.includes('/'))
    ? hrefOf(kind, name)
    : why(name, { kind });
}

/** Names of statuses, and the shape of each: colour is never the only sign. */
const STATUSES = {
  online: 'online',
  active: 'online',
  standby: 'standby',
  test: 'test',
  brokeroff: 'brokeroff',
  drain: 'brokeroff',
  paused: 'paused',
  silent: 'offline',
  offline: 'offline',
  inactive: 'offline',
  down: 'offline',
};
/** A status may go on behind its first word: `inactive, the job manager is down`. */
export const firstWord = (status) => (status ?? '').split(/[ ,:;]/)[0];
export const statusShape = (status) => STATUSES[firstWord(status)] ?? 'unknown';
