// The list of the latest calls.
import { byId, chip, clock, duration, el } from './dom.js';

const body = byId('calls');
const rows = new Map(); // id → { call, row, link }
const work = new Set(['tools/call', 'resources/read', 'prompts/get', 'completion/complete']);
let text = '';
let which = 'all';
let chosen = '';

export const knows = (id) => rows.has(id);
export const focusOn = (id) => rows.get(id)?.link.focus();

// reset shows these calls and no others; change adds, replaces and removes.
export function reset(calls) {
  const now = new Set(calls.map((c) => c.id));
  change(calls, [...rows.keys()].filter((id) => !now.has(id)), false);
}

export function change(calls, gone, fresh) {
  for (const id of gone) {
    rows.get(id)?.row.remove();
    rows.delete(id);
  }
  for (const call of calls.toSorted((a, b) => a.start - b.start)) put(call, fresh);
  refresh();
}

export function filter(newText, newWhich) {
  text = newText.trim().toLowerCase();
  which = newWhich;
  for (const entry of rows.values()) entry.row.hidden = !wanted(entry.call);
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
}

function wanted(call) {
  if (which === 'failed' && !call.failed) return false;
  if (which === 'work' && !work.has(call.method)) return false;
  if (!text) return true;
  const all = [call.method, call.target, call.client, call.session, call.backend, call.version, call.outcome, call.error, call.id];
  return all.some((v) => v && v.toLowerCase().includes(text));
}

function put(call, fresh) {
  const old = rows.get(call.id);
  let entry = draw(call);
  if (old) {
    entry = update(old, entry);
  } else {
    if (fresh) entry.row.classList.add('fresh');
    let next = body.firstElementChild; // nearly always the right place: the newest call is first
    while (next && Number(next.dataset.start) > call.start) next = next.nextElementSibling;
    body.insertBefore(entry.row, next);
  }
  entry.row.hidden = !wanted(call);
  rows.set(call.id, entry);
  if (call.id === chosen) choose(chosen);
}

// update keeps the row, and in it what did not change: somebody may be about to click it.
function update(old, next) {
  const same = old.link.textContent === next.link.textContent;
  for (const [i, cell] of [...next.row.cells].entries()) {
    if (!same || !cell.contains(next.link)) old.row.cells[i].replaceWith(cell);
  }
  return { call: next.call, row: old.row, link: same ? old.link : next.link };
}

function draw(call) {
  const link = el('a', 'call',
    el('span', 'method', call.method), call.target ? el('span', 'target', call.target) : call.error ? el('span', 'error', call.error) : null);
  link.href = `#${call.id}`;
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

body.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
  let row = event.target.closest('tr');
  if (!step || !row) return;
  do row = row[step]; while (row?.hidden);
  if (row) row.querySelector('a').focus();
  event.preventDefault();
});
