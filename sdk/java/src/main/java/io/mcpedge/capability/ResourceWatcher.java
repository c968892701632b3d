package io.mcpedge.capability;

import java.util.function.Consumer;

/**
 * A provider that detects changes. One that is notified of changes can call {@link Capability#resourceUpdated} and {@link
 * Capability#resourcesChanged} instead.
 */
public interface ResourceWatcher extends ResourceProvider {
  /**
   * Begins to watch and returns the end of the watch: until that is called, updated gets every URI that changed, and listChanged
   * runs if the result of list changes. At most one watch runs at a time, while there are watchers.
   */
  Runnable watch(Consumer<String> updated, Runnable listChanged) throws Exception;
}
