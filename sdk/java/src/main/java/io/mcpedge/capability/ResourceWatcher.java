package io.mcpedge.capability;

import java.util.function.Consumer;

/**
 * A provider that sees changes. One that learns of them anyway calls {@link Capability#resourceUpdated} and {@link
 * Capability#resourcesChanged} instead.
 */
public interface ResourceWatcher extends ResourceProvider {
  /**
   * Begins to watch and returns what ends it: from then on updated is given every URI that changed, and listChanged runs when list
   * would answer differently. It runs while anyone watches, once at a time.
   */
  Runnable watch(Consumer<String> updated, Runnable listChanged) throws Exception;
}
