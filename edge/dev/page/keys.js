// Rows that share one Tab stop: the arrow keys move between them.
const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

// rove makes the keys move through those rows of a table's body that fit; go is called with the next row.
export function rove(body, fits, go) {
  body.addEventListener('keydown', (event) => {
    const step = steps[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = [...body.rows].filter(fits);
    const at = rows.indexOf(event.target.closest('tr'));
    if (at < 0) return;
    event.preventDefault();
    go(rows[Math.min(rows.length - 1, Math.max(0, at + step))]);
  });
}
