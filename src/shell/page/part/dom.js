// Elements from data. Whatever comes from the API becomes text, never markup. A tree that is made
// again is compared with the shown one, and only what differs is written: focus, scroll, and what
// a reader has opened stay.

const shapes = document.getElementById('shapes');
/** The names of SVG's elements are in the namespace that the page's own shapes are in. */
const SVG = new Set(['svg', 'path', 'use', 'rect', 'g']);
const HANDLERS = Symbol('handlers');

/** An element: `h('a.name', {href}, 'text', child)`. Children null or false are skipped. */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split('.');
  const element = SVG.has(name)
    ? document.createElementNS(shapes.namespaceURI, name)
    : document.createElement(name);
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) listen(element, key.slice(2), value);
    else if (key === 'style')
      Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (key in element && typeof value !== 'string' && !SVG.has(name)) element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  add(element, children);
  return element;
}

/** Handlers are kept beside the element, so that one made later can take an earlier one's place. */
function listen(element, type, handler) {
  element[HANDLERS] ??= {};
  const all = element[HANDLERS];
  if (!(type in all)) element.addEventListener(type, (event) => all[type]?.call(element, event));
  all[type] = handler;
}

/** A part that is costly to make: it is made again only if its key is another one. */
export class Later {
  constructor(key, make) {
    this.key = String(key);
    this.make = make;
  }

  made() {
    const element = this.make();
    element.dataset.memo = this.key;
    return element;
  }
}

export const later = (key, make) => new Later(key, make);

/** Children as a flat list of nodes, texts and parts to be made later. */
function flat(children, into = []) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === '') continue;
    if (Array.isArray(child)) flat(child, into);
    else into.push(child);
  }
  return into;
}

function add(element, children) {
  for (const child of flat(children)) {
    if (child instanceof Later) {
      const stub = document.createElement('later-part');
      stub.later = child;
      stub.dataset.memo = child.key;
      element.append(stub);
    } else {
      element.append(child);
    }
  }
}

/** Makes what was to be made later below a node that is shown for the first time. */
function settle(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node;
  if (node.later) return settle(node.later.made());
  for (const stub of node.querySelectorAll('later-part')) stub.replaceWith(settle(stub));
  return node;
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  settle(element);
  return element;
}

/** Makes an element hold these children, writing only what differs from what it holds. */
export function morph(element, ...children) {
  const fresh = document.createElement('div');
  add(fresh, children);
  morphChildren(element, fresh);
}

const keyOf = (node) => node.dataset?.key;

function isAlike(old, fresh) {
  if (old.nodeType !== fresh.nodeType || keyOf(old) !== keyOf(fresh)) return false;
  if (fresh.later || old.dataset?.memo !== undefined)
    return old.dataset?.memo === fresh.dataset?.memo;
  return (
    old.nodeName === fresh.nodeName && old.getAttribute?.('type') === fresh.getAttribute?.('type')
  );
}

function morphChildren(element, fresh) {
  const keyed = new Map();
  for (const child of element.children) if (keyOf(child)) keyed.set(keyOf(child), child);
  let at = element.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    let old = key ? keyed.get(key) : at;
    // What stands here and is gone gives way to what comes behind it.
    if (!key) while (old && keyOf(old)) old = old.nextSibling;
    if (old && isAlike(old, child)) {
      if (old === at) at = at.nextSibling;
      else element.insertBefore(old, at);
      morphNode(old, child);
    } else {
      element.insertBefore(settle(child), at);
      if (old && !key && old === at) {
        at = at.nextSibling;
        old.remove();
      }
    }
    if (key) keyed.delete(key);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
  for (const child of keyed.values()) child.remove();
}

function morphNode(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (fresh.later) return;
  for (const { name, value } of [...fresh.attributes])
    if (name !== 'style' && name !== 'open' && old.getAttribute(name) !== value)
      old.setAttribute(name, value);
  for (const { name } of [...old.attributes])
    if (name !== 'style' && name !== 'open' && !fresh.hasAttribute(name)) old.removeAttribute(name);
  if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  const handlers = old[HANDLERS] ?? {};
  for (const type of Object.keys(handlers)) if (!fresh[HANDLERS]?.[type]) handlers[type] = null;
  for (const [type, handler] of Object.entries(fresh[HANDLERS] ?? {})) listen(old, type, handler);
  morphChildren(old, fresh);
}

/** Sets a text where it is another one. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A shape of the page; with a label it is read out. */
export function icon(name, label) {
  const shape = document.getElementById(`i-${name}`) ? name : 'unknown';
  return h(
    'svg.icon',
    label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' },
    h('use', { href: `#i-${shape}` }),
  );
}

/** Names and values that are not empty; a list is given value by value. */
export function pairs(params) {
  return Object.entries(params)
    .flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    .filter(([, value]) => value !== '' && value !== null && value !== undefined);
}

/** `?a=b&c=d` of what is not empty. */
export function query(params) {
  const given = pairs(params);
  return given.length ? `?${new URLSearchParams(given)}` : '';
}
