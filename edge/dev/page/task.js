// One task: its runs, messages and questions.
import { byId, clock, duration, el } from './dom.js';
import { head, headless } from './head.js';

const ends = {
  '': 'continues', queued: 'waits for its turn', asked: 'it waited for answers', lost: 'its replica was lost', handed_over: 'its replica left: handed over',
  taken_over: 'another replica took it over', completed: 'the task completed', failed: 'the task failed', cancelled: 'the task was cancelled',
};
const bad = new Set(['lost', 'failed']);
let id = '';
let fetching = 0;

// open shows a task, by its id in the list; an empty id closes.
export function open(newId) {
  id = newId;
  byId('task').hidden = !id;
  refresh();
}

// refresh loads the task again.
export async function refresh() {
  if (!id) return;
  const mine = ++fetching;
  let answer;
  try {
    const response = await fetch(`/dev/tasks/${encodeURIComponent(id)}`);
    if (response.ok) answer = await response.json();
  } catch {
    return; // the edge is unreachable; the list shows that
  }
  if (mine !== fetching || !id) return;
  if (answer) return draw(answer);
  headless('This task is not known any more');
  fill('runs', 'runCount', []);
  fill('steps', 'stepCount', []);
}

function draw({ call, trace, runs, steps }) {
  head(call, [['Task', call.task], ['Created', clock(call.start)], ['Age', duration(call.duration)],
    ['Attempt', call.attempt ? String(call.attempt) : ''], ['Client', call.client], ['Revision', call.version], ['Trace', trace]]);
  const task = byId('task');
  const at = [...task.querySelectorAll('a')].findIndex((a) => a === document.activeElement);
  fill('runs', 'runCount', runs.map((run) => runRow(run, trace)));
  fill('steps', 'stepCount', steps.map(stepRow));
  if (at >= 0) (task.querySelectorAll('a')[at] ?? task).focus({ preventScroll: true });
}

// fill keeps unchanged rows, because a user may be about to click a link in one.
function fill(body, count, rows) {
  const old = [...byId(body).rows];
  for (const [i, row] of rows.entries()) {
    if (!old[i]) byId(body).append(row);
    else if (!old[i].isEqualNode(row)) old[i].replaceWith(row);
  }
  for (const row of old.slice(rows.length)) row.remove();
  byId(count).textContent = rows.length ? String(rows.length) : 'none';
}

function runRow(run, trace) {
  const took = run.ended ? duration(run.ended - run.began) : '–';
  let way = el('span', 'dim', trace ? 'at that replica' : '–');
  if (trace && !run.call) way.title = `Trace ${trace}: look at that replica's page, or where the traces are exported to`;
  if (run.call) {
    way = el('a', 'goto', 'waterfall');
    way.href = `#${run.call}`;
  }
  const why = ends[run.end ?? ''] ?? run.end;
  return el('tr', bad.has(run.end) ? 'bad' : '',
    el('td', 'replica', run.replica || 'not known', run.here ? el('span', 'dim', ' · here') : null),
    el('td', 'number wide', String(run.owner)),
    el('td', 'number wide', run.round ? String(run.round) : '–'),
    el('td', 'number wide', run.attempt ? String(run.attempt) : '–'),
    el('td', 'when', clock(run.began)),
    el('td', 'number', took),
    el('td', `why ${run.end || 'running'}`, why),
    el('td', '', way));
}

function stepRow(step) {
  const what = step.key ? el('span', `chip ${step.waits ? 'waiting' : 'ok'}`, step.waits ? 'asks' : 'asked') : el('span', 'dim', 'said');
  return el('tr', '',
    el('td', 'when dim', clock(step.at)),
    el('td', 'what', what),
    el('td', 'text', step.text || '–', step.key ? el('span', 'dim', ` ${step.method}, ${step.key}`) : null));
}
