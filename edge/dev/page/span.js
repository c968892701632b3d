// The details of the selected span.
import { byId, duration, el } from './dom.js';
import { reasonText } from './waterfall.js';

const panel = byId('span');
const content = {
  'gen_ai.tool.call.arguments': 'Arguments', 'mcpedge.tool.call.arguments.effective': 'Arguments for the backend', 'gen_ai.tool.call.result': 'Result',
};
const services = { client: 'the client', edge: 'the edge', grpc: 'the edge, calling a backend', backend: 'the backend', state: 'the durable state' };

// show shows a span; go is called with the id of a linked span that is clicked.
export function show(span, go) {
  const inside = panel.contains(document.activeElement) && document.activeElement !== panel;
  const at = stops().indexOf(document.activeElement);
  panel.replaceChildren();
  if (span) fill(span, go);
  if (inside) (stops()[at] ?? panel).focus({ preventScroll: true });
}

// stops returns the focusable elements of the panel: links, and texts that scroll.
const stops = () => [...panel.querySelectorAll('button, [tabindex]')];

function fill(span, go) {
  const attributes = span.attributes ?? [];
  panel.append(
    el('h3', `role ${span.role}`, span.name),
    list([
      ['where', services[span.role] + (span.service ? ` (${span.service})` : '')], ['kind', span.kind],
      ['from', duration(span.start)], ['took', duration(span.duration) + (span.running ? ' so far' : '')],
    ]));
  if (span.message || span.failed) panel.append(el('p', 'trouble', span.message || 'failed'));
  for (const [key, value] of attributes) {
    if (content[key]) panel.append(part(content[key]), el('pre', '', pretty(value)));
  }
  const rest = attributes.filter(([key]) => !content[key]);
  if (span.events?.length) panel.append(part('Events', span.events.length), el('ol', 'events', ...span.events.map(event)));
  if (span.links?.length) panel.append(part('Links', span.links.length), el('ul', 'links', ...span.links.map((l) => link(l, go))));
  if (rest.length) panel.append(part('Attributes', rest.length), list(rest));
  for (const text of panel.querySelectorAll('pre')) if (text.scrollHeight > text.clientHeight) text.tabIndex = 0;
}

function part(title, count) {
  return el('h4', '', title, count ? el('span', 'dim', ` ${count}`) : null);
}

function list(pairs) {
  return el('dl', 'pairs', ...pairs.map(([key, value]) => el('div', '', el('dt', '', key), el('dd', '', value))));
}

function event({ name, at, attributes }) {
  return el('li', '', el('span', 'at', duration(at)), el('span', 'what', name), attributes ? list(attributes) : null);
}

function link(l, go) {
  const words = l.reason ? reasonText(l.reason) : 'linked';
  if (!l.name) return el('li', '', words, el('span', 'dim mono', ` ${l.span}`));
  const button = el('button', 'goto', l.name);
  button.type = 'button';
  button.addEventListener('click', () => go(l.span));
  return el('li', '', `${words}: `, button);
}

// pretty indents JSON; other text is not changed.
function pretty(value) {
  try {
    const parsed = JSON.parse(value);
    return typeof parsed === 'object' ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
}
