package io.mcpedge.capability;

/** The user declined a question. */
public final class Declined extends Unanswered {
  private static final long serialVersionUID = 1;

  Declined() {
    super("the user declined to answer");
  }
}
