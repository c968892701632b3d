package io.mcpedge.capability.internal;

import io.mcpedge.capability.ClientCapabilities;
import io.mcpedge.capability.Failure;
import io.mcpedge.capability.Implementation;
import io.mcpedge.capability.Level;
import io.mcpedge.capability.Principal;
import io.mcpedge.capability.PromptResult;
import io.mcpedge.capability.ReadResult;
import io.mcpedge.capability.Result;
import io.mcpedge.capability.Root;
import io.mcpedge.capability.SamplingRequest;
import io.mcpedge.capability.SamplingResult;
import io.mcpedge.v1.CallToolResult;
import io.mcpedge.v1.CreateMessage;
import io.mcpedge.v1.CreateMessageResult;
import io.mcpedge.v1.GetPromptResult;
import io.mcpedge.v1.InputRequest;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.LogLevel;
import io.mcpedge.v1.ReadResourceResult;

/** Gives the test kit access to internals of io.mcpedge.capability. Not for programs: it may change in any version. */
public abstract class Bridge {
  private static Bridge instance;

  protected Bridge() {}

  /** Sets the implementation. */
  protected static void set(Bridge bridge) {
    instance = bridge;
  }

  /** The implementation, once Capability is loaded. */
  public static Bridge get() {
    return instance;
  }

  public abstract Result result(CallToolResult result);

  public abstract ReadResult read(ReadResourceResult result);

  public abstract PromptResult prompt(GetPromptResult result);

  public abstract Failure failure(io.mcpedge.v1.Failure failure);

  public abstract SamplingRequest sampling(CreateMessage request);

  public abstract CreateMessageResult sampled(SamplingResult result);

  public abstract io.mcpedge.v1.Root root(Root root);

  public abstract io.mcpedge.v1.Principal principal(Principal principal);

  public abstract io.mcpedge.v1.Implementation implementation(Implementation info);

  public abstract io.mcpedge.v1.ClientCapabilities capabilities(ClientCapabilities can);

  public abstract LogLevel level(Level level);

  /** Encodes a value as the library does. */
  public abstract String json(Object value);

  /** Returns why an answer to a question is invalid; null if it is valid. */
  public abstract String misfit(InputRequest question, InputResponse answer);
}
