package io.mcpedge.capability;

import java.time.Duration;
import java.util.List;

/**
 * An outcome for handlers that keep their own account of the rounds: thrown, it ends the round as it says. Handlers that ask never
 * need it. MCP: InputRequiredResult.
 */
public final class InputRequired extends RuntimeException {
  private static final long serialVersionUID = 1;

  final transient List<Question<?>> questions;
  final transient byte[] state;
  transient Duration retryAfter = Duration.ZERO;
  transient boolean repeatable;

  /**
   * The questions are asked all at once, at most 16; {@link Call#response} has their answers. The state comes back in {@link
   * Call#state}; null keeps that of {@link Call#setState}.
   */
  public InputRequired(byte[] state, Question<?>... questions) {
    super("input required: " + questions.length + " requests", null, false, false);
    this.state = state;
    this.questions = List.of(questions);
  }

  /** When to call again, with no questions; at most an hour. Without it: soon. */
  public InputRequired retryAfter(Duration after) {
    retryAfter = after;
    return this;
  }

  /** The next round may be run again with the state when the edge's replica is lost, whatever the tool says of itself. */
  public InputRequired repeatable() {
    repeatable = true;
    return this;
  }
}
