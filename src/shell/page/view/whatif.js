// What if: settings that are tried on the present state, and what would be decided otherwise.
import { lead } from '../part/card.js';
import { fill } from '../part/dom.js';
export class Whatif {
  constructor(main) {
    fill(main, lead({ title: 'What if' }));
  }
  tick() {}
}
