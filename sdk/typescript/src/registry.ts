import type { Call } from "./call.js";
import type { Completers } from "./completion.js";
import { Failure, quote } from "./failure.js";
import type { Feed } from "./feed.js";
import type { Plain } from "./run.js";

/** The handler of a request. */
export interface Work<Request, Result> {
  handle(request: Request, call: Call): Promise<Result>;
  /** Converts an error without a reason; absent means INTERNAL. */
  plain?: Plain<Result>;
}

/** An entry of a list. */
export interface Entry<Listed, Request, Result> extends Work<Request, Result> {
  listed: Listed;
  completers?: Completers;
}

/** Entries by key, in the order of their registration. Every change is published. */
export class Registry<E> {
  readonly #entries = new Map<string, E>();

  constructor(
    readonly kind: string,
    readonly changes: Feed,
  ) {}

  /** add adds an entry. Throws if the key is taken: remove that entry first. */
  add(key: string, entry: E): void {
    if (this.#entries.has(key)) {
      const taken = `${this.kind} ${JSON.stringify(key)} is registered already`;
      throw new Error(`${taken}: choose another name, or remove it first`);
    }
    this.#entries.set(key, entry);
    this.changes.publish("");
  }

  /** remove removes an entry, and returns whether it existed. */
  remove(key: string): boolean {
    const existed = this.#entries.delete(key);
    if (existed) this.changes.publish("");
    return existed;
  }

  get(key: string): E | undefined {
    return this.#entries.get(key);
  }

  /** Returns an entry. Throws NOT_FOUND if there is none. */
  find(key: string): E {
    const found = this.#entries.get(key);
    if (!found) throw new Failure("NotFound", `there is no ${this.kind} ${quote(key)}`);
    return found;
  }

  all(): E[] {
    return [...this.#entries.values()];
  }
}
