package io.mcpedge.capability;

/**
 * The user's answer to a form or a URL. MCP: ElicitResult.
 *
 * @param content the completed form, a JSON object; null unless the action is ACCEPT
 */
public record ElicitResult(Action action, RawJson content) {
  /** The reaction of the user. */
  public enum Action {
    ACCEPT,
    DECLINE,
    CANCEL;

    /** Returns the name in MCP, in lower case. */
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
