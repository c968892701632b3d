// The page receives the calls and shows the one in the address.
import { byId } from './dom.js';
import * as list from './list.js';
import * as task from './task.js';
import * as waterfall from './waterfall.js';

const live = byId('live');
let paused = false;
let connected = false;
let shown = ''; // the call or task with visible details
let held = null; // changes received while paused: { all, calls, gone }

function show() {
  const [cls, words] = paused ? ['paused', 'Paused'] : connected ? ['on', 'Live'] : ['off', 'Connecting'];
  live.dataset.state = cls;
  byId('liveText').textContent = words;
  live.setAttribute('aria-pressed', String(!paused));
}

function apply({ calls, gone }, all) {
  if (all) list.reset(calls);
  else list.change(calls, gone ?? [], true);
  if (all || calls.some((c) => c.id === shown)) (isTask(shown) ? task : waterfall).refresh();
}

const isTask = (id) => id.startsWith('task-');

function take(event, all) {
  const data = JSON.parse(event.data);
  if (!paused) return apply(data, all);
  if (all || !held) held = { all: all || false, calls: new Map(), gone: new Set() };
  for (const id of data.gone ?? []) { held.calls.delete(id); held.gone.add(id); }
  for (const call of data.calls) held.calls.set(call.id, call);
}

const source = new EventSource('/dev/events');
source.addEventListener('open', () => { connected = true; show(); });
source.addEventListener('error', () => { connected = false; show(); });
source.addEventListener('calls', (event) => take(event, true));
source.addEventListener('changes', (event) => take(event, false));

live.addEventListener('click', () => {
  paused = !paused;
  show();
  if (paused || !held) return;
  const { all, calls, gone } = held;
  held = null;
  apply({ calls: [...calls.values()], gone: [...gone] }, all);
});

const filters = document.querySelector('.filters');
const text = byId('text');
const refilter = () => list.filter(text.value, filters.elements.which.value);
filters.addEventListener('input', refilter);
filters.addEventListener('submit', (event) => event.preventDefault());

function route() {
  const id = decodeURIComponent(location.hash.slice(1));
  const before = shown;
  const inside = byId('detail').contains(document.activeElement);
  shown = id;
  byId('detail').hidden = !id;
  byId('main').classList.toggle('split', Boolean(id));
  document.title = 'Calls · MCP Edge';
  list.choose(id);
  waterfall.open(isTask(id) ? '' : id);
  task.open(isTask(id) ? id : '');
  if (inside && !id) list.focusOn(before);
  else list.reveal(); // the room for the list has changed
}

function close() {
  const id = shown;
  if (!id) return;
  history.pushState(null, '', location.pathname);
  route();
  list.focusOn(id);
}

addEventListener('hashchange', route);
addEventListener('popstate', route);
byId('close').addEventListener('click', close);
byId('skip').addEventListener('click', list.enter);
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && event.target !== text) close();
  if (event.key === '/' && event.target !== text && !event.ctrlKey && !event.metaKey) {
    text.focus();
    event.preventDefault();
  }
});
show();
refilter();
route();
