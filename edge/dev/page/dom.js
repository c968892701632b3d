// Helpers. Names and attributes come from clients and backends, so the page inserts everything as text,
// never as markup.

export const byId = (id) => document.getElementById(id);

// el returns an element with a class and children: nodes, or strings as text. null children are omitted.
export function el(name, cls, ...children) {
  const node = document.createElement(name);
  if (cls) node.className = cls;
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

// duration formats microseconds with three digits.
export function duration(us) {
  const sign = us < 0 ? '−' : '';
  us = Math.abs(us);
  for (const [unit, size] of [['s', 1e6], ['ms', 1e3]]) {
    if (us < size * 0.9995) continue;
    const n = us / size;
    if (unit === 's' && n >= 100) return `${sign}${Math.floor(n / 60)} min ${Math.round(n % 60)} s`;
    return `${sign}${n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : Math.round(n)} ${unit}`;
  }
  return us === 0 ? '0' : `${sign}${Math.round(us)} µs`;
}

export function clock(us) {
  const at = new Date(us / 1000);
  const two = (n) => String(n).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}

// state returns the state of a call: a CSS class and its text.
export function state(call) {
  if (call.task) return taskState(call);
  if (call.failed) return ['failed', call.outcome ? call.outcome.replaceAll('_', ' ') : 'failed'];
  if (call.running) return ['running', call.rounds > 1 ? `running, round ${call.rounds}` : 'running'];
  if (call.outcome === 'input_required') return ['waiting', 'waiting for answers'];
  if (call.outcome === 'lost') return ['waiting', 'lost'];
  return ['ok', call.outcome || 'ok'];
}

function taskState(task) {
  const words = task.outcome === 'input_required' ? 'waiting for answers' : task.outcome.replaceAll('_', ' ');
  if (task.failed) return ['failed', words];
  if (task.running) return ['running', task.attempt > 1 ? `${words}, attempt ${task.attempt}` : words];
  return [task.outcome === 'completed' ? 'ok' : 'waiting', words];
}

export function chip(call) {
  const [cls, words] = state(call);
  return el('span', `chip ${cls}`, words);
}
