package io.mcpedge.capability;

import java.time.Duration;
import java.util.List;

/**
 * An outcome for handlers that manage state and answers themselves: throwing it ends the round. Handlers that ask do not need it.
 * MCP: InputRequiredResult.
 */
public final class InputRequired extends RuntimeException {
  private static final long serialVersionUID = 1;

  final transient List<Question<?>> questions;
  final transient byte[] state;
  transient Duration retryAfter = Duration.ZERO;
  transient boolean repeatable;

  /**
   * The questions are sent together, at most 16; {@link Call#response} returns their answers. {@link Call#state} returns the
   * state in the next round; null keeps that of {@link Call#setState}.
   */
  public InputRequired(byte[] state, Question<?>... questions) {
    super("input required: " + questions.length + " requests", null, false, false);
    this.state = state;
    this.questions = List.of(questions);
  }

  /** The delay before the next round without questions, at most an hour. By default it is soon. */
  public InputRequired retryAfter(Duration after) {
    retryAfter = after;
    return this;
  }

  /** Allows the edge to retry the next round with the state after the loss of a replica, whatever the tool's hints are. */
  public InputRequired repeatable() {
    repeatable = true;
    return this;
  }
}
