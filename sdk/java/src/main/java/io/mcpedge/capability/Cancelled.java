package io.mcpedge.capability;

/** The user closed a question without a choice, or the client could not show it. */
public final class Cancelled extends RuntimeException {
  private static final long serialVersionUID = 1;

  Cancelled() {
    super("the user dismissed the question");
  }
}
