// The list of the latest calls.
import { byId, chip, clock, duration, el } from './dom.js';
import { rove } from './keys.js';

const body = byId('calls');
const section = byId('list');
const rows = new Map(); // id → { call, row, link }
const work = new Set(['', 'tools/call', 'resources/read', 'prompts/get', 'completion/complete']);
let text = '';
let which = 'all';
let chosen = '';
let stop = null; // the link that is the Tab stop
let visited = ''; // the call that had the focus last

// focusOn focuses a call, or else the list's Tab stop, or the list.
export function focusOn(id) {
  const entry = rows.get(id);
  (entry && !entry.row.hidden ? entry.link : stop ?? section).focus();
}

export const enter = () => focusOn('');

// reveal scrolls to the focused row.
export const reveal = () => current()?.scrollIntoView({ block: 'nearest' });

// current returns the focused row, if any.
const current = () => (body.contains(document.activeElement) ? document.activeElement.closest('tr') : null);

// keep changes the rows and keeps the focus on its row, visible if it was, or on the nearest remaining one.
function keep(change) {
  const at = current();
  const before = at ? [...body.rows] : [];
  const shown = at && inSight(at);
  change();
  if (at && !left(at)) {
    const i = before.indexOf(at);
    const near = before.slice(i + 1).find(left) ?? before.slice(0, i).findLast(left);
    visited = near?.dataset.id ?? '';
  }
  settle();
  if (at && !left(at)) enter();
  else if (shown) at.scrollIntoView({ block: 'nearest' });
}

const left = (row) => row.isConnected && !row.hidden;

function inSight(row) {
  const [a, b] = [row.getBoundingClientRect(), section.getBoundingClientRect()];
  return a.bottom > b.top && a.top < b.bottom;
}

// settle makes one link the Tab stop: that of the call with the last focus, else of the selected one, else the first.
function settle() {
  const entry = [visited, chosen].map((id) => rows.get(id)).find((e) => e && !e.row.hidden);
  const next = entry?.link ?? [...body.rows].find((r) => !r.hidden)?.querySelector('a') ?? null;
  if (next === stop) return;
  if (stop) stop.tabIndex = -1;
  if (next) next.tabIndex = 0;
  stop = next;
}

// reset replaces all calls; change adds, replaces and removes some.
export function reset(calls) {
  const now = new Set(calls.map((c) => c.id));
  change(calls, [...rows.keys()].filter((id) => !now.has(id)), false);
}

export function change(calls, gone, fresh) {
  keep(() => {
    for (const id of gone) {
      rows.get(id)?.row.remove();
      rows.delete(id);
    }
    for (const call of calls.toSorted((a, b) => a.start - b.start)) put(call, fresh);
  });
  refresh();
}

export function filter(newText, newWhich) {
  text = newText.trim().toLowerCase();
  which = newWhich;
  keep(() => {
    for (const entry of rows.values()) entry.row.hidden = !wanted(entry.call);
  });
  refresh();
}

export function choose(id) {
  for (const old of [chosen, id]) {
    const entry = rows.get(old);
    if (!entry) continue;
    entry.row.classList.toggle('chosen', old === id);
    if (old === id) entry.link.setAttribute('aria-current', 'true');
    else entry.link.removeAttribute('aria-current');
  }
  chosen = id;
  settle();
}

function wanted(call) {
  if (which === 'failed' && !call.failed) return false;
  if (which === 'work' && !work.has(call.method ?? '')) return false;
  if (which === 'tasks' && !call.task) return false;
  if (!text) return true;
  const all = [call.method, call.target, call.shown, call.client, call.session, call.backend, call.version, call.outcome, call.error, call.id, call.task && 'task'];
  return all.some((v) => v && v.toLowerCase().includes(text));
}

function put(call, fresh) {
  const old = rows.get(call.id);
  let entry = draw(call);
  if (old) {
    entry = update(old, entry);
  } else {
    if (fresh) entry.row.classList.add('fresh');
    let next = body.firstElementChild; // usually the right place: the newest call is first
    while (next && Number(next.dataset.start) > call.start) next = next.nextElementSibling;
    body.insertBefore(entry.row, next);
  }
  entry.row.hidden = !wanted(call);
  rows.set(call.id, entry);
  if (call.id === chosen) choose(chosen);
}

// update keeps the row and its link, which a user may be about to click or may have focused.
function update(old, next) {
  for (const [i, cell] of [...next.row.cells].entries()) {
    if (!cell.contains(next.link)) old.row.cells[i].replaceWith(cell);
  }
  if (old.link.textContent !== next.link.textContent) old.link.replaceChildren(...next.link.childNodes);
  return { call: next.call, row: old.row, link: old.link };
}

// shownAs returns the target of a call, with its name for the client if that is another one.
const shownAs = (call) => call.shown ? `${call.target}, shown as ${call.shown}` : call.target;

function draw(call) {
  const link = el('a', 'call',
    el('span', 'method', call.task ? 'task' : call.method), call.target ? el('span', 'target', shownAs(call)) : call.error ? el('span', 'error', call.error) : null,
    call.task ? el('span', 'taskId mono', `…${call.task.slice(-8)}`) : null);
  if (call.task) link.title = `Task ${call.task}`;
  link.href = `#${call.id}`;
  link.tabIndex = -1;
  const session = el('td', 'wide dim mono', call.session ? call.session.slice(0, 8) : '–');
  if (call.session) session.title = `Session ${call.session}`;
  const outcome = el('td', 'outcome', chip(call));
  if (call.error) outcome.title = call.error;
  const row = el('tr', '',
    el('td', 'time dim', clock(call.start)),
    el('td', 'what', link),
    el('td', 'wide', call.client || '–'),
    session,
    el('td', 'wide', call.backend || '–'),
    el('td', 'number wide', call.rounds > 1 || call.takenOver ? el('span', 'rounds', String(call.rounds)) : String(call.rounds)),
    el('td', 'number', duration(call.duration)),
    outcome);
  row.dataset.start = call.start;
  row.dataset.id = call.id;
  return { call, row, link };
}

function refresh() {
  let shown = 0;
  for (const entry of rows.values()) if (!entry.row.hidden) shown++;
  byId('count').textContent = shown === rows.size ? `${shown} ${shown === 1 ? 'call' : 'calls'}` : `${shown} of ${rows.size} calls`;
  byId('empty').hidden = shown > 0;
  byId('emptyTitle').textContent = rows.size ? 'No call matches' : 'No calls yet';
  byId('emptyText').textContent = rows.size ? 'Change the filter to see the others.'
    : 'Connect a client to the edge, or call a tool: it appears here at once.';
}

body.addEventListener('click', (event) => {
  const row = event.target.closest('tr');
  if (row && !event.target.closest('a') && !String(getSelection())) location.hash = row.dataset.id;
});

body.addEventListener('focusin', () => {
  visited = current()?.dataset.id ?? '';
  settle();
});

rove(body, left, (row) => row.querySelector('a').focus());
