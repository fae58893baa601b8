// A view that asks several questions, each as often as it matters, and shows what it has: a part
// that cannot be answered says so, and the others go on.

import { Refused, ask } from './ask.js';
import { morph } from './dom.js';
import { isHeldSince, paused } from './frame.js';

/** After an answer that is none: asked again after so long if that may help, or if it hardly may. */
const AGAIN = 3000;
const SELDOM = 30000;

/** Questions by name: {path, params?(), every?, slow?, when?()}. `slow` ones are not waited for. */
export class Sources {
  constructor(specs) {
    this.specs = specs;
    this.data = {};
    this.errors = {};
    this.versions = {};
    this.due = {};
    this.busy = new Set();
    this.isFirst = true;
  }

  /** Asks what is due; resolves when those are answered that are not slow. */
  async tick(signal, changed) {
    const now = performance.now();
    const waited = [];
    for (const [name, spec] of Object.entries(this.specs)) {
      const isDue = now >= (this.due[name] ?? 0) && !this.busy.has(name);
      if (!isDue || (spec.when && !spec.when())) continue;
      // What is seen first comes first.
      if (spec.slow && this.isFirst) continue;
      const asked = this.ask(name, spec, signal);
      if (!spec.slow) waited.push(asked);
      else asked.then(() => !signal.aborted && changed()).catch(() => {});
    }
    this.isFirst = false;
    const ended = await Promise.allSettled(waited);
    const failed = ended.find((it) => it.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async ask(name, { path, params, every = 1000 }, signal) {
    this.busy.add(name);
    try {
      const answer = await ask(path, params?.() ?? {}, signal);
      this.data[name] = answer;
      this.versions[name] = (this.versions[name] ?? 0) + 1;
      delete this.errors[name];
      this.due[name] = performance.now() + every - 50;
    } catch (error) {
      if (!(error instanceof Refused) || !error.status || error.status === 401) throw error;
      this.errors[name] = error;
      this.due[name] = performance.now() + (error.isFinal ? SELDOM : AGAIN);
    } finally {
      this.busy.delete(name);
    }
  }

  /** Asks a question again at the next turn, since its parameters are others. */
  again(name) {
    this.due[name] = 0;
  }
}

/** A view that is drawn from its sources; `draw()` returns its elements. */
export class Live {
  constructor(main, place, specs) {
    Object.assign(this, place, { main, process: null });
    this.sources = new Sources(specs);
    this.orders = new Map();
  }

  get data() {
    return this.sources.data;
  }

  get errors() {
    return this.sources.errors;
  }

  /** The process's time. */
  get now() {
    return this.process?.now ?? this.data.queues?.now ?? Date.now();
  }

  status(process) {
    this.process = process;
  }

  async tick(signal) {
    const { isFirst } = this.sources;
    const before = paused.since;
    await this.sources.tick(signal, () => isHeldSince(before) || this.write());
    return () => {
      this.write();
      if (isFirst) this.kick();
    };
  }

  write() {
    morph(this.main, this.draw());
    this.written?.();
  }

  /**
   * Items in an order that a reader can follow: it changes at most every 10 s, and never while
   * pointer or focus is in the list, which `selector` finds. New ones go to the end until then. Another `basis`
   * is reason enough to order again.
   */
  steady(name, items, keyOf, compare, selector, basis = '') {
    const wanted = items.slice().sort(compare);
    const before = this.orders.get(name);
    const at = performance.now();
    const isHeld = Boolean(this.main.querySelector(selector)?.matches(':hover, :focus-within'));
    const isDue = !before || at - before.at > 10000 || before.basis !== basis;
    if (isDue && !(before && isHeld)) {
      this.orders.set(name, { at, basis, keys: new Map(wanted.map((it, i) => [keyOf(it), i])) });
      return wanted;
    }
    const place = (it) => before.keys.get(keyOf(it)) ?? Infinity;
    return wanted.sort((a, b) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  }
}
