// Tables that can be sorted by their columns, and show a bounded number of rows at first.

import { fill, h } from './dom.js';
import { count } from './format.js';

/**
 * A table of `rows`. A column is {name, title?, number?, value(row), cell?(row)}: `value` is sorted
 * by, `cell` is what is shown if it is another. Rows keep their order until a column is chosen. On a
 * phone the rows of `cards` are cards, as those of `rows` in card.js; a column then has its `kind`.
 */
export function table({ columns, rows, most = 100, label, cards = false }) {
  let sorted = rows;
  let by = null;
  let down = false;
  let shown = most;
  const body = h('tbody');
  const more = h('button.btn.plain', {
    type: 'button',
    hidden: true,
    onclick: () => {
      shown = Infinity;
      write();
    },
  });
  const heads = columns.map((column) => {
    const sort = h(
      'button',
      { type: 'button', title: column.title, onclick: () => order(column) },
      column.name,
    );
    return h(column.number ? 'th.num' : 'th', { scope: 'col' }, sort);
  });

  function order(column) {
    down = by === column ? !down : Boolean(column.number);
    by = column;
    const keyed = rows.map((row) => [column.value(row), row]);
    const sign = down ? -1 : 1;
    keyed.sort(([a], [b]) => {
      if (a === b) return 0;
      if (a === null || a === undefined || a === '') return 1;
      if (b === null || b === undefined || b === '') return -1;
      return a < b ? -sign : sign;
    });
    sorted = keyed.map(([, row]) => row);
    columns.forEach((it, at) => {
      if (it === column) heads[at].setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else heads[at].removeAttribute('aria-sort');
    });
    write();
  }

  function write() {
    fill(
      body,
      sorted.slice(0, shown).map((row) =>
        h(
          'tr',
          {},
          columns.map((column) => {
            const cell = column.cell ? column.cell(row) : column.value(row);
            const classes = [column.kind, column.number && 'num'].filter(Boolean).join(' ');
            return h(
              'td',
              { class: classes || null, 'data-l': column.number && column.name },
              cell,
            );
          }),
        ),
      ),
    );
    more.hidden = sorted.length <= shown;
    if (more.parentElement) more.parentElement.hidden = more.hidden;
    more.textContent = `Show all ${count(sorted.length)}`;
  }

  write();
  return h(
    'div',
    {},
    h(
      'div.scroll',
      { role: 'group', 'aria-label': label, tabindex: '0' },
      h(cards ? 'table.cards' : 'table', {}, h('thead', {}, h('tr', {}, heads)), body),
    ),
    h('p.more-rows', { hidden: sorted.length <= shown }, more),
  );
}
