package io.mcpedge.capability;

import io.mcpedge.v1.LogLevel;
import io.mcpedge.v1.RequestContext;
import java.util.Map;

/** Request contexts for tests. */
final class Contexts {
  /** A client that wants progress and all logs, accepts checkpoints, and supports every question. */
  static final RequestContext DEFAULT = RequestContext.newBuilder().setCallId("test").setAttempt(1).setProgressWanted(true)
      .setLogLevel(LogLevel.LOG_LEVEL_DEBUG).setCheckpoints(true)
      .setClientCapabilities(Wire.capabilities(new ClientCapabilities(true, true, true, true, true, Map.of()))).build();

  private Contexts() {}
}
