package io.mcpedge.capability;

import java.util.*;

/** Entries by key, in the order of their registration. Every change is published. */
final class Registry<E> {
  private final String what;
  private final Feed changes;
  private final Map<String, E> entries = new LinkedHashMap<>();

  /** Creates a registry. what is the name for an entry in messages, such as tool. */
  Registry(String what, Feed changes) {
    this.what = what;
    this.changes = changes;
  }

  /** Adds an entry. Throws DefinitionException if the key is taken, or the handler is null. */
  synchronized void add(String key, E entry, Object handler) {
    DefinitionException.unlessGiven("the handler of " + what + " " + Json.quote(key), handler);
    if (entries.putIfAbsent(key, entry) != null) {
      throw new DefinitionException("there is a " + what + " " + Json.quote(key) + " already: give it another name, or remove the other first");
    }
    changes.publish("");
  }

  /** Removes an entry, and returns whether it existed. */
  synchronized boolean remove(String key) {
    boolean removed = entries.remove(key) != null;
    if (removed) {
      changes.publish("");
    }
    return removed;
  }

  /** The entry of a key; null if there is none. */
  synchronized E get(String key) {
    return entries.get(key);
  }

  /** The entry of a key. Throws Failure NOT_FOUND if there is none. */
  synchronized E find(String key) {
    E found = entries.get(key);
    if (found == null) {
      throw Failure.notFound(what, key);
    }
    return found;
  }

  synchronized List<E> all() {
    return List.copyOf(entries.values());
  }
}
