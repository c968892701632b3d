package io.mcpedge.capability;

/** The user said no to a question. */
public final class Declined extends Unanswered {
  private static final long serialVersionUID = 1;

  Declined() {
    super("the user declined to answer");
  }
}
