package io.mcpedge.capability;

import io.mcpedge.v1.FailureReason;

/**
 * The reason of a failure. For a tool, the model sees INVALID_ARGUMENT, FAILED_PRECONDITION and NOT_FOUND, as a result with {@code
 * isError}; all others are protocol errors, which the client sees.
 */
public enum Reason {
  /** The arguments are wrong. */
  INVALID_ARGUMENT,
  /** The resource, or an object that a tool needs, does not exist. */
  NOT_FOUND,
  /** The current state does not permit it. */
  FAILED_PRECONDITION,
  /** The caller may not do it. */
  PERMISSION_DENIED,
  /** A quota is used up. */
  RESOURCE_EXHAUSTED,
  /** Try again later. */
  UNAVAILABLE,
  /** It took too long. */
  DEADLINE_EXCEEDED,
  /** A fault of the service. */
  INTERNAL;

  /** The reason of a message of the contract; INTERNAL for one that is unknown. */
  static Reason of(FailureReason wire) {
    int number = wire == FailureReason.UNRECOGNIZED ? 0 : wire.getNumber();
    return number == 0 || number > values().length ? INTERNAL : values()[number - 1];
  }

  FailureReason wire() {
    return FailureReason.valueOf("FAILURE_REASON_" + name());
  }
}
