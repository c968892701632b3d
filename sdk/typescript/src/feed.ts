/**
 * The maximum number of different pending URIs of one watcher. Beyond it they become one event for the watched URI.
 */
const maxPending = 1024;

/** One stream's view of a feed. */
interface Watcher {
  uri: string;
  /** The URIs that changed since its last read, each once. */
  pending: Set<string>;
  wake: () => void;
}

/** Notifies any number of watchers of changes. Pending changes of a slow watcher are coalesced; publishing never blocks. */
export class Feed {
  readonly #watchers = new Set<Watcher>();
  closed = false;

  /** Notifies watchers of this URI, or of a parent that ends with a slash. */
  publish(uri: string): void {
    for (const { uri: watched, pending, wake } of this.#watchers) {
      if (uri !== watched && !(watched.endsWith("/") && uri.startsWith(watched))) continue;
      const full = pending.size >= maxPending && !pending.has(uri);
      if (full) pending.clear();
      pending.add(full ? watched : uri);
      wake();
    }
  }

  close(): void {
    this.closed = true;
    for (const watcher of this.#watchers) watcher.wake();
  }

  /**
   * Runs one watcher's stream until the signal aborts or the feed is closed: started first, then one send per change. The watcher
   * is known before started is called, so nothing falls between.
   */
  async serve(
    uri: string,
    signal: AbortSignal,
    started: () => Promise<void>,
    send: (uri: string) => Promise<void>,
  ): Promise<void> {
    const watcher: Watcher = { uri, pending: new Set(), wake: () => {} };
    this.#watchers.add(watcher);
    signal.addEventListener("abort", () => watcher.wake());
    try {
      if (!this.closed) await started();
      while (!signal.aborted && !this.closed) {
        const changed = [...watcher.pending];
        watcher.pending.clear();
        for (const uri of changed) await send(uri);
        if (changed.length === 0) await new Promise<void>((resolve) => (watcher.wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }
}
