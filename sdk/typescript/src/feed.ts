/**
 * How many different URIs one watcher may lag behind; beyond it they become one event for the watched URI.
 */
const maxPending = 1024;

/** One stream's view of a feed. */
export class Watcher {
  #pending = new Set<string>();
  #wake: (() => void) | undefined;

  constructor(readonly uri: string) {}

  /** The watched URI itself, or one below it when the watched one ends with "/". */
  matches(uri: string): boolean {
    return uri === this.uri || (this.uri.endsWith("/") && uri.startsWith(this.uri));
  }

  add(uri: string): void {
    if (this.#pending.size >= maxPending && !this.#pending.has(uri)) {
      this.#pending.clear();
      uri = this.uri;
    }
    this.#pending.add(uri);
    this.wake();
  }

  wake(): void {
    this.#wake?.();
  }

  /** What changed since, each URI once. */
  take(): string[] {
    const taken = [...this.#pending];
    this.#pending.clear();
    return taken;
  }

  /** Resolves when something is pending, or at the next wake. */
  async waiting(): Promise<void> {
    if (this.#pending.size > 0) return;
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
  }
}

/** Tells any number of watchers of changes. What a slow watcher has not taken yet is coalesced; publishing never blocks. */
export class Feed {
  readonly #watchers = new Set<Watcher>();
  closed = false;

  publish(uri: string): void {
    for (const watcher of this.#watchers) if (watcher.matches(uri)) watcher.add(uri);
  }

  close(): void {
    this.closed = true;
    for (const watcher of this.#watchers) watcher.wake();
  }

  /**
   * Runs one watcher's stream until the signal aborts or the feed is closed, and says which: started first, then one send
   * per change. The watcher is known before started is called, so nothing falls between.
   */
  async serve(
    uri: string,
    signal: AbortSignal,
    started: () => Promise<void>,
    send: (uri: string) => Promise<void>,
  ): Promise<"left" | "closed"> {
    const watcher = new Watcher(uri);
    const wake = () => watcher.wake();
    this.#watchers.add(watcher);
    signal.addEventListener("abort", wake);
    try {
      if (!this.closed) await started();
      while (!signal.aborted && !this.closed) {
        for (const changed of watcher.take()) await send(changed);
        if (!signal.aborted && !this.closed) await watcher.waiting();
      }
      return signal.aborted ? "left" : "closed";
    } finally {
      signal.removeEventListener("abort", wake);
      this.#watchers.delete(watcher);
    }
  }
}
