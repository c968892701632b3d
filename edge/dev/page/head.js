// The head above the details of a call or a task.
import { byId, chip, el } from './dom.js';

const mono = new Set(['Trace', 'Session', 'Task']);

// head shows the call, its state and facts: names with values. Empty values are omitted.
export function head(call, facts) {
  const title = call.target || call.method;
  document.title = `${title} · MCP Edge`;
  byId('detailTitle').replaceChildren(title, call.target ? el('span', 'method', call.task ? 'task' : call.method) : '');
  byId('detailOutcome').replaceChildren(chip(call));
  byId('facts').replaceChildren(...facts.filter(([, v]) => v).map(([k, v]) => el('div', '', el('dt', '', k), el('dd', mono.has(k) ? 'mono' : '', v))));
  const trouble = byId('trouble');
  trouble.hidden = !call.error || call.error === call.outcome;
  trouble.textContent = call.error || '';
}

// headless shows why there is nothing to show.
export function headless(why) {
  byId('detailTitle').textContent = why;
  byId('detailOutcome').replaceChildren();
  byId('facts').replaceChildren();
  byId('trouble').hidden = true;
}
