package io.mcpedge.capability;

/** The user gave no answer to a question: {@link Declined} or {@link Dismissed}. Catch this to treat both alike. */
public abstract sealed class Unanswered extends RuntimeException permits Declined, Dismissed {
  private static final long serialVersionUID = 1;

  Unanswered(String message) {
    super(message);
  }
}
