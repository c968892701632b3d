/** The names of all options of a type; the compiler checks that they are complete. */
export type Names<T> = { [K in keyof T]-?: true };

/** Throws, with the owner's name, if options are not an object or have an unknown member. */
export function mustKnow<T extends object>(owner: string, given: T, names: Names<T>): void {
  const kind = given === null ? "null" : Array.isArray(given) ? "an array" : typeof given;
  if (kind !== "object") throw new TypeError(`${owner}: its options are an object, not ${kind}`);
  const known = Object.keys(names);
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw new TypeError(`${owner} has no option ${JSON.stringify(name)}: ${meant(name, known)}`);
  }
}

/** Throws, with the owner's name, if a text is not among the permitted values of an option. */
export function mustBeOneOf(owner: string, given: unknown, values: readonly string[]): void {
  if (given === undefined || values.includes(given as string)) return;
  throw new TypeError(`${owner} is one of ${quoted(values)}, not ${JSON.stringify(given)}`);
}

/** Suggests the most similar known name, or all names. */
export function meant(name: string, known: readonly string[]): string {
  const near = known.find((k) => distance(k.toLowerCase(), name.toLowerCase()) <= Math.min(2, k.length / 3));
  if (near !== undefined) return `do you mean ${JSON.stringify(near)}?`;
  return known.length > 0 ? `known are ${quoted(known)}` : "there are none";
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(", ");
}

/** Returns the edit distance of two words, with transpositions. It is infinite for names beyond 64 characters. */
function distance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Infinity;
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const [row, above, before] = [[i], rows[i - 1]!, rows[i - 2]];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const exchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before?.[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, replaced, exchanged));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
