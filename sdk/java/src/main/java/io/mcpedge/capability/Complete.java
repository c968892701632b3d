package io.mcpedge.capability;

import java.util.*;

/**
 * Suggests values for an argument of a prompt or a variable of a template. MCP: completion/complete.
 *
 * @param argument the name
 */
public record Complete(String argument, Completer by) {
  /** The maximum number of values of a completion by MCP. */
  private static final int MOST = 100;

  /** Suggests values. */
  @FunctionalInterface
  public interface Completer {
    /**
     * Returns suggestions, best first. The value is the text typed so far; chosen are the other arguments that are filled in. Clients
     * get at most 100, and the number of all. The call describes the request: it cannot ask, and its events are dropped.
     */
    List<String> complete(Call call, String value, Map<String, String> chosen) throws Exception;
  }

  /** Suggests fixed values that begin with the typed text, ignoring case, in their order. */
  public static Complete suggest(String argument, String... values) {
    List<String> all = List.of(values);
    return new Complete(argument, (call, value, chosen) -> {
      String typed = value.toLowerCase(Locale.ROOT);
      return all.stream().filter(v -> v.toLowerCase(Locale.ROOT).startsWith(typed)).toList();
    });
  }

  /** Completers by name. Throws DefinitionException for a name that is not known. */
  static Map<String, Completer> of(String what, List<String> known, Complete... completes) {
    Map<String, Completer> out = new java.util.HashMap<>();
    for (Complete c : completes) {
      if (!known.contains(c.argument)) {
        throw new DefinitionException(what + " has no " + Json.quote(c.argument) + " to complete; it has " + known);
      }
      out.put(c.argument, c.by);
    }
    return Map.copyOf(out);
  }

  /** Runs a completer; null has no suggestions. */
  static Values run(Completer by, Call call, String value, Map<String, String> chosen) throws Exception {
    if (by == null) {
      return new Values(List.of(), 0, false);
    }
    List<String> values = by.complete(call, value, chosen);
    return new Values(values.subList(0, Math.min(MOST, values.size())), values.size(), values.size() > MOST);
  }

  /** The result of a completion. */
  record Values(List<String> values, int total, boolean more) {}
}
