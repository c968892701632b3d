package io.mcpedge.capability;

/**
 * The user's answer to a form or a URL. MCP: ElicitResult.
 *
 * @param content the form that was filled in, a JSON object; null unless it was accepted
 */
public record ElicitResult(Action action, RawJson content) {
  /** What the user did. */
  public enum Action {
    ACCEPT,
    DECLINE,
    CANCEL;

    /** The name as MCP has it: in lower case. */
    @Override
    public String toString() {
      return name().toLowerCase(java.util.Locale.ROOT);
    }
  }

  /** Throws Declined or Dismissed unless it was accepted. */
  public ElicitResult orThrow() {
    if (action == Action.DECLINE) {
      throw new Declined();
    }
    if (action == Action.CANCEL) {
      throw new Dismissed();
    }
    return this;
  }
}
