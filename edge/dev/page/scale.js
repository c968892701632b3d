// The time axis of a waterfall. A user's answer takes longer than everything else, so idle times are drawn
// narrow to keep the rest visible.
import { duration } from './dom.js';

const narrow = 0.09; // width of each idle gap, relative to the total

// scale returns x, which maps a time to a position from 0 to 1, the narrow gaps, and the marks of the axis:
// { at, text }.
export function scale(spans) {
  const begin = Math.min(0, ...spans.map((s) => s.start));
  const end = Math.max(begin + 1, ...spans.map((s) => s.start + s.duration));
  const gaps = idle(spans.filter((s) => s.role !== 'client'), begin, end);
  const idleTime = gaps.reduce((sum, g) => sum + g.to - g.from, 0);
  const width = Math.min(narrow, 0.5 / Math.max(1, gaps.length));
  const perTime = (1 - width * gaps.length) / Math.max(1e-9, end - begin - idleTime);
  const x = (t) => {
    let at = 0;
    let from = begin;
    for (const gap of gaps) {
      if (t <= gap.from) break;
      at += (gap.from - from) * perTime;
      if (t < gap.to) return at + width * (t - gap.from) / (gap.to - gap.from);
      at += width;
      from = gap.to;
    }
    return Math.min(1, Math.max(0, at + (Math.max(t, from) - from) * perTime));
  };
  return { x, gaps, marks: gaps.length ? brokenMarks(gaps, begin, x) : evenMarks(begin, end, x) };
}

// idle returns the gaps that are long compared with the busy time.
function idle(spans, begin, end) {
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  const gaps = [];
  let busy = 0;
  let until = begin;
  for (const s of sorted) {
    if (s.start > until) gaps.push({ from: until, to: s.start });
    const stop = s.start + s.duration;
    if (stop > until) busy += stop - Math.max(s.start, until);
    until = Math.max(until, stop);
  }
  if (sorted.length && end > until) gaps.push({ from: until, to: end });
  return gaps.filter((g) => g.to - g.from > busy * 0.5);
}

function evenMarks(begin, end, x) {
  const step = (end - begin) / 4;
  return [0, 1, 2, 3, 4].map((i) => ({ at: x(begin + i * step), text: duration(begin + i * step) }));
}

// brokenMarks returns a mark for the beginning of each busy period, except those without room.
function brokenMarks(gaps, begin, x) {
  const marks = gaps[0].from > begin ? [{ at: 0, text: duration(begin) }] : [];
  for (const gap of gaps) {
    const at = x(gap.to);
    if (at < 0.97 && (!marks.length || at - marks.at(-1).at > 0.14)) marks.push({ at, text: duration(gap.to) });
  }
  return marks;
}
