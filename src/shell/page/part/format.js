// How numbers, spans and moments are shown. All times are UTC.

import { h } from './dom.js';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = 86400000;

const isKnown = (value) => value !== null && value !== undefined && !Number.isNaN(value);

/** A count: `12,345`; `–` where it is not known. */
export function count(value) {
  return isKnown(value) ? whole.format(value) : '–';
}

/** A count where there is little room: `9,837`, `12.4 k`. */
export function short(value) {
  if (!isKnown(value)) return '–';
  const size = Math.abs(value);
  if (size < 10 && size % 1) return value.toFixed(1);
  if (size < 1e4) return whole.format(value);
  if (size < 1e6) return `${(value / 1e3).toFixed(size < 1e5 ? 1 : 0)} k`;
  return `${(value / 1e6).toFixed(1)} M`;
}

/** Bytes: `12.4 GB`, `980 MB`, `3.1 TB`; `–` where they are not known. */
export function size(bytes) {
  if (!isKnown(bytes)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let at = 0;
  let value = bytes;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  return `${value < 100 && at > 0 ? value.toFixed(1) : Math.round(value)}\u00a0${units[at]}`;
}

/** A figure of which nothing is known: few digits, but no more than matter. */
export function figure(value) {
  if (!isKnown(value)) return '';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return whole.format(value);
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) return value.toExponential(3);
  return size >= 1000 ? whole.format(value) : String(Number(value.toPrecision(4)));
}

/** A part of a whole, from 0 to 1: `12.4 %`. */
export const percent = (part, digits = 1) =>
  isKnown(part) ? `${(100 * part).toFixed(digits)}\u00a0%` : '–';

/** `1 request`, `4 requests`. */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** A duration of at most two units: `4 min`, `6 h 29 min`, `1 d 9 h`. */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 && days < 30 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** A figure in its unit; times as spans. */
export function amount(value, unit = '') {
  if (!isKnown(value)) return '';
  if (unit === 'ms') return span(value);
  if (unit === 's') return span(1000 * value);
  return `${figure(value)} ${unit}`.trim();
}

/** A moment in full: `2026-11-24 10:12:03`. */
export function utc(ms) {
  if (!isKnown(ms)) return '';
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 19).replace('T', ' ');
}

export const clock = (ms) => utc(ms).slice(11, 16);

/** `14:05`; of another day than `now` `14 Oct 22:34`; far away with the year, without the clock. */
export function when(ms, now) {
  if (!isKnown(ms) || ms <= 0) return '–';
  if (isKnown(now) && utc(ms).slice(0, 10) === utc(now).slice(0, 10)) return clock(ms);
  const date = new Date(ms);
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  const isFar = isKnown(now) && Math.abs(now - ms) > 200 * DAY;
  return isFar ? `${day} ${date.getUTCFullYear()}` : `${day} ${clock(ms)}`;
}

/** A moment as an element that machines can read; the full text is its title. */
export function moment(ms, now) {
  const text = utc(ms);
  if (!text || ms <= 0) return h('span', {}, '–');
  return h(
    'time',
    { datetime: `${text.replace(' ', 'T')}Z`, title: `${text} UTC` },
    now === undefined ? text : when(ms, now),
  );
}

const STAMP = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** A sentence of the process, its moments as they are shown elsewhere. */
export const plain = (text, now) =>
  (text ?? '').replace(STAMP, (stamp) => `${when(Date.parse(stamp), now)} UTC`);

/** How long ago something was, or that it is not known. */
export const ago = (ms, now) => (isKnown(ms) && ms > 0 ? `${span(now - ms)} ago` : '–');
