package io.mcpedge.capability;

import java.util.function.Consumer;

/** A provider in its place, watched while anyone watches. */
final class Provided {
  final String prefix;
  final ResourceProvider provider;
  private final Consumer<String> updated;
  private final Runnable listChanged;
  private int users;
  private Runnable stop = () -> {};

  Provided(String prefix, ResourceProvider provider, Consumer<String> updated, Runnable listChanged) {
    this.prefix = prefix;
    this.provider = provider;
    this.updated = updated;
    this.listChanged = listChanged;
  }

  /** Begins to watch for the first user. Each success needs one release. */
  synchronized void acquire() throws Exception {
    if (users == 0 && provider instanceof ResourceWatcher watcher) {
      stop = watcher.watch(updated, listChanged);
    }
    users++;
  }

  synchronized void release() {
    if (--users == 0) {
      stop.run();
      stop = () -> {};
    }
  }
}
