package io.mcpedge.capability;

/** The user closed a question without a choice, or the client could not show it. */
public final class Dismissed extends Unanswered {
  private static final long serialVersionUID = 1;

  Dismissed() {
    super("the user dismissed the question");
  }
}
