import { setImmediate } from "node:timers/promises";
import { Failure, quote } from "./failure.js";

/**
 * What a question without an answer throws: the handler is to end, and runs again from its top with the answer. A handler that
 * catches it ends in its questions all the same.
 */
export class Unwinding extends Error {
  override name = "Unwinding";
  override message = "the handler ends here, and runs again when the client has answered: do not catch this";
}

/** The promise of an answer, or of what `once` keeps. It knows whether the handler waits for it. */
class Asked<T> extends Promise<T> {
  awaited = false;

  static override get [Symbol.species]() {
    return Promise;
  }

  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.awaited = true;
    return super.then(fulfilled, rejected);
  }
}

/** All that a handler asks in one round, with what came of it. */
export class Asking {
  #over = false;
  readonly #all: { what: string; promise: Asked<unknown>; settled: boolean; reason?: unknown }[] = [];

  /** Runs work that a handler has to await; what names it. An unhandled rejection does not end the process. */
  begin<T>(what: string, work: () => Promise<T>): Promise<T> {
    const promise = new Asked<T>((resolve, reject) => {
      work().then(resolve, async (reason: unknown) => {
        // A handler that does not wait has ended by then, and what it left behind is not to end the process.
        if (reason instanceof Unwinding) await setImmediate();
        if (!this.#over) reject(reason);
      });
    });
    const asked = { what, promise, settled: false, reason: undefined as unknown };
    this.#all.push(asked);
    const settle = (reason?: unknown) => {
      asked.settled = true;
      asked.reason = reason;
    };
    Promise.prototype.then.call(promise, () => settle(), settle); // not its own then: this is no handler that waits
    return promise;
  }

  /** Ends what runs still: promises of unanswered questions stay open. */
  end(): void {
    this.#over = true;
  }

  /** Whether the handler was asked to end. */
  get unwound(): boolean {
    return this.#all.some(({ promise, reason }) => promise.awaited && reason instanceof Unwinding);
  }

  /**
   * Throws when the handler, which has returned, did not wait for something: its result was made without the answer. After one
   * that was refused a handler may leave the others.
   */
  mustBeAwaited(): void {
    if (this.#all.some(({ promise, reason }) => promise.awaited && reason !== undefined)) return;
    const left = this.#all.find(({ promise, settled }) => !promise.awaited || !settled);
    if (left) throw new Failure("Internal", `${left.what} was not awaited: write await before the call, or return it`);
  }
}

/** Names questions by their keys. */
export function naming(keys: readonly string[]): string {
  return `${keys.length === 1 ? "question" : "questions"} ${keys.map(quote).join(", ")}`;
}
