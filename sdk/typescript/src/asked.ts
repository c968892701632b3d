import { setImmediate } from "node:timers/promises";
import { Failure, quote } from "./failure.js";

/**
 * Unwinding is thrown by a question without an answer: the handler ends, and runs again from its top with the answer. A handler that
 * catches it still ends with its questions.
 */
export class Unwinding extends Error {
  override name = "Unwinding";
  override message = "the handler ends here, and runs again when the client has answered: do not catch this";
}

/** The promise of an answer, or of a value of `once`. awaited is set when the handler waits for it. */
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

/** The questions of a handler in one round, and their outcomes. */
export class Asking {
  #over = false;
  readonly #all: { what: string; promise: Asked<unknown>; settled: boolean; reason?: unknown }[] = [];

  /** begin runs work that a handler has to await; `what` names it in errors. An unhandled rejection does not end the process. */
  begin<T>(what: string, work: () => Promise<T>): Promise<T> {
    const promise = new Asked<T>((resolve, reject) => {
      work().then(resolve, async (reason: unknown) => {
        // A handler that does not wait has ended by then, and its promises must not end the process.
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

  /** end ends the round: promises of unanswered questions stay pending. */
  end(): void {
    this.#over = true;
  }

  /** unwound reports whether a question without an answer has ended the handler. */
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
