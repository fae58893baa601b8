// Questions to the API: the token that goes with each, and what an answer that is none means.

import { pairs } from './dom.js';

const TOKEN = 'yardmaster-token';
/** The process answers within 10 s, or says that it cannot. */
const ANSWER_MAX = 15000;

/** An answer that is none. `status` is 0 where nothing answered at all. */
export class Refused extends Error {
  constructor(status, error, remedy = '') {
    super(error);
    this.status = status;
    this.remedy = remedy;
  }

  /** Whether it is about the question, so that asking again is in vain. */
  get isFinal() {
    return [400, 403, 404, 413, 414, 421].includes(this.status);
  }
}

let token = stored();

function stored() {
  try {
    return sessionStorage.getItem(TOKEN) ?? '';
  } catch {
    return '';
  }
}

/** Keeps a token for this tab. */
export function setToken(given) {
  token = given;
  try {
    sessionStorage.setItem(TOKEN, given);
  } catch {
    // Storage may be forbidden; then it is kept until the page is left.
  }
}

/** Whether a token is sent. */
export function hasToken() {
  return token !== '';
}

/** The domain of the page's address (`/?domain=NAME`); empty: the first of the process. */
export const DOMAIN = new URLSearchParams(location.search).get('domain') ?? '';

/** An answer that was asked for before this module was read (`early.js`); each is taken once. */
function taken(path, isPlain) {
  const early = globalThis.yardmasterEarly;
  const answer = isPlain ? early?.[path] : undefined;
  if (answer) delete early[path];
  return answer;
}

/**
 * Asks `api/v1/{path}` about the page's domain, with those parameters that are not empty. Throws `Refused`, or `AbortError`
 * if the signal says so.
 */
export async function ask(path, params = {}, signal = undefined) {
  const given = pairs(params);
  const all = DOMAIN ? [...given, ['domain', DOMAIN]] : given;
  const query = all.length ? `?${new URLSearchParams(all)}` : '';
  const late = AbortSignal.timeout(ANSWER_MAX);
  let answer;
  let body;
  try {
    answer = await (taken(path, !given.length) ??
      fetch(`api/v1/${path}${query}`, {
        headers: token ? { Authorization: `Bearer ${token}` } : {},
        signal: signal ? AbortSignal.any([signal, late]) : late,
        cache: 'no-store',
      }));
    body = await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    if (answer && error instanceof SyntaxError)
      throw new Refused(answer.status, 'the answer is not JSON');
    throw new Refused(0, late.aborted ? `no answer within ${ANSWER_MAX / 1000} s` : 'no answer');
  }
  if (!answer.ok)
    throw new Refused(answer.status, body.error ?? `status ${answer.status}`, body.remedy);
  return body;
}
