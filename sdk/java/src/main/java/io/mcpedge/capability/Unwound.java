package io.mcpedge.capability;

/** Ends a handler at a question without an answer. Catching it has no effect: the call has recorded the question. */
final class Unwound extends Error {
  private static final long serialVersionUID = 1;

  Unwound() {
    super("the handler ends here, and runs again when the client has answered: do not catch this", null, false, false);
  }
}
