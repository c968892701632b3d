// One call as a waterfall.
import { byId, clock, duration, el } from './dom.js';
import { head, headless } from './head.js';
import { rove } from './keys.js';
import { scale } from './scale.js';
import { show } from './span.js';

const body = byId('spans');
let id = '';
let picked = ''; // the selected span
let fetching = 0;

// open shows a call; an empty id closes.
export function open(newId) {
  const other = newId !== id;
  id = newId;
  byId('panes').hidden = !id;
  if (!id) return;
  if (other) picked = '';
  refresh();
}

// refresh loads the call again.
export async function refresh() {
  if (!id) return;
  const mine = ++fetching;
  let answer;
  try {
    const response = await fetch(`/dev/calls/${encodeURIComponent(id)}`);
    if (response.ok) answer = await response.json();
  } catch {
    return; // the edge is unreachable; the list shows that
  }
  if (mine !== fetching) return;
  if (answer) draw(answer);
  else forget();
}

function forget() {
  headless('This call is not kept any more');
  for (const part of ['axis', 'spans', 'span']) byId(part).replaceChildren();
}

function draw({ call, spans, more }) {
  head(call, facts(call));
  const axis = scale(spans);
  byId('axis').replaceChildren(...axis.marks.map(mark), ...axis.gaps.map((gap) => gapMark(gap, axis.x)));
  const focused = body.contains(document.activeElement);
  if (!spans.some((s) => s.id === picked)) picked = spans.find((s) => s.round || s.role === 'edge')?.id ?? spans[0]?.id;
  const rows = [];
  for (const span of spans) {
    if (span.round) rows.push(roundRow(span));
    rows.push(spanRow(span, axis));
  }
  if (more) rows.push(el('tr', 'note', wideCell(`${more} more spans are not shown.`)));
  body.replaceChildren(...rows);
  select(spans);
  if (focused) body.querySelector('tr.chosen button')?.focus({ preventScroll: true });
  body.pick = (spanId) => {
    picked = spanId;
    select(spans);
  };
}

// select marks a span as selected and shows it.
function select(spans) {
  for (const row of body.querySelectorAll('tr[data-id]')) {
    const is = row.dataset.id === picked;
    row.classList.toggle('chosen', is);
    const button = row.querySelector('button');
    button.setAttribute('aria-pressed', String(is));
    button.tabIndex = is ? 0 : -1; // one Tab stop for all
  }
  show(spans.find((s) => s.id === picked), (spanId) => {
    if (!spans.some((s) => s.id === spanId)) {
      location.hash = spanId;
      return;
    }
    body.pick(spanId);
    body.querySelector('tr.chosen button').focus();
  });
}

function facts(call) {
  const waited = call.duration - call.busy;
  const took = waited > call.busy * 0.2 && call.rounds > 1
    ? `${duration(call.duration)}, of which ${duration(waited)} waiting for answers` : duration(call.duration);
  return [['Began', clock(call.start)], ['Took', took], ['Rounds', call.rounds > 1 ? String(call.rounds) : ''], ['Client', call.client],
    ['Shown as', call.shown], ['Session', call.session], ['Backend', call.backend], ['Revision', call.version], ['Trace', call.id.split('-')[0]]];
}

function mark({ at, text }) {
  const node = el('span', at > 0.93 ? 'tick last' : 'tick', text);
  node.style.left = `${at * 100}%`;
  return node;
}

function gapMark(gap, x) {
  const node = el('span', 'break', `${duration(gap.to - gap.from)}`);
  place(node, x(gap.from), x(gap.to));
  return node;
}

function place(node, from, to) {
  node.style.left = `${from * 100}%`;
  node.style.width = `${Math.max(0, to - from) * 100}%`;
}

const reasons = {
  answered: 'the client answered what was asked before',
  continued: 'continues with the state of the previous round',
  taken_over: 'taken over: the replica that ran it was lost',
  resumed: 'the client came back to the stream',
  http: 'the HTTP request is in a trace of its own',
};

export const reasonText = (reason) => reasons[reason] ?? reason.replaceAll('_', ' ');

function wideCell(...children) {
  const cell = el('td', '', ...children);
  cell.colSpan = 3;
  return cell;
}

function roundRow(span) {
  return el('tr', 'round', wideCell(
    el('strong', '', `Round ${span.round}`), span.reason ? el('span', 'reason', reasonText(span.reason)) : null));
}

const shortName = (span) => (span.role === 'grpc' || span.role === 'backend' ? span.name.replace(/^mcpedge\.v1\./, '') : span.name);
const places = { client: 'client', edge: 'edge', grpc: 'gRPC', backend: 'backend', state: 'state' };

function spanRow(span, { x, gaps }) {
  const where = span.role === 'backend' && span.service ? span.service : places[span.role];
  const button = el('button', `role ${span.role}`, el('span', 'label', shortName(span)),
    span.reason && !span.round ? el('span', 'why', reasonText(span.reason)) : null, el('span', 'where', where));
  button.type = 'button';
  button.style.setProperty('--depth', Math.min(span.depth, 12));
  const track = el('div', 'lane');
  for (const gap of gaps) {
    const hatch = el('i', 'gap');
    place(hatch, x(gap.from), x(gap.to));
    track.append(hatch);
  }
  const bar = el('div', `span-bar role ${span.role}${span.failed ? ' failed' : ''}${span.running ? ' running' : ''}${span.wait ? ' wait' : ''}`);
  place(bar, x(span.start), x(span.start + span.duration));
  bar.setAttribute('role', 'img');
  bar.setAttribute('aria-label', `from ${duration(span.start)}, took ${duration(span.duration)}${span.failed ? ', failed' : ''}`);
  track.append(bar);
  for (const event of span.events ?? []) {
    const dot = el('i', 'dot');
    dot.style.left = `${x(event.at) * 100}%`;
    dot.title = `${event.name} at ${duration(event.at)}`;
    track.append(dot);
  }
  const row = el('tr', span.failed ? 'bad' : '', el('td', 'name', button), el('td', 'track', track), el('td', 'number', duration(span.duration)));
  if (span.id) row.dataset.id = span.id;
  else button.disabled = true;
  return row;
}

body.addEventListener('click', (event) => {
  const row = event.target.closest('tr[data-id]');
  if (row) body.pick(row.dataset.id);
});

rove(body, (row) => row.dataset.id, (row) => {
  body.pick(row.dataset.id);
  row.querySelector('button').focus();
});
