package io.mcpedge.capability;

import java.util.function.Consumer;

/** A provider under its prefix, which is watched while there are watchers. */
final class Provided {
  private static final System.Logger LOG = System.getLogger("io.mcpedge.capability");

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

  /** Begins to watch for the first user. Each success requires one release. */
  synchronized void acquire() throws Exception {
    if (users == 0 && provider instanceof ResourceWatcher watcher) {
      stop = watcher.watch(updated, listChanged);
    }
    users++;
  }

  /** Ends the watch after the last user. An exception is logged, so that the caller can end other watches. */
  synchronized void release() {
    if (--users > 0) {
      return;
    }
    try {
      stop.run();
    } catch (Throwable e) {
      LOG.log(System.Logger.Level.ERROR, "the watch of the provider of " + prefix + " did not end", e);
    }
    stop = () -> {};
  }
}
