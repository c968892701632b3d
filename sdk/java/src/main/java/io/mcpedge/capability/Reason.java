package io.mcpedge.capability;

import io.grpc.Status;
import io.mcpedge.v1.FailureReason;

/**
 * Why there is no result. For a tool, INVALID_ARGUMENT and FAILED_PRECONDITION reach the model as a result with {@code isError};
 * all others are protocol errors.
 */
public enum Reason {
  /** The arguments are wrong. */
  INVALID_ARGUMENT(Status.Code.INVALID_ARGUMENT),
  /** The named tool, prompt or resource does not exist. */
  NOT_FOUND(Status.Code.NOT_FOUND),
  /** The state of the world does not allow it now. */
  FAILED_PRECONDITION(Status.Code.FAILED_PRECONDITION),
  /** The caller may not do it. */
  PERMISSION_DENIED(Status.Code.PERMISSION_DENIED),
  /** A quota is used up. */
  RESOURCE_EXHAUSTED(Status.Code.RESOURCE_EXHAUSTED),
  /** Try again later. */
  UNAVAILABLE(Status.Code.UNAVAILABLE),
  /** It took too long. */
  DEADLINE_EXCEEDED(Status.Code.DEADLINE_EXCEEDED),
  /** A fault of the service. */
  INTERNAL(Status.Code.INTERNAL);

  final Status.Code code;

  Reason(Status.Code code) {
    this.code = code;
  }

  FailureReason wire() {
    return FailureReason.valueOf("FAILURE_REASON_" + name());
  }
}
