package io.mcpedge.capability;

import io.mcpedge.capability.internal.Bridge;
import io.mcpedge.v1.CallToolResult;
import io.mcpedge.v1.CreateMessage;
import io.mcpedge.v1.CreateMessageResult;
import io.mcpedge.v1.GetPromptResult;
import io.mcpedge.v1.InputRequest;
import io.mcpedge.v1.InputResponse;
import io.mcpedge.v1.LogLevel;
import io.mcpedge.v1.ReadResourceResult;

/** Implements the bridge to the kit for tests. */
final class Bridged extends Bridge {
  /** Sets the bridge; each Capability calls it. */
  static void install() {
    set(new Bridged());
  }

  @Override
  public Result result(CallToolResult result) {
    return Unwire.result(result);
  }

  @Override
  public ReadResult read(ReadResourceResult result) {
    return Unwire.read(result);
  }

  @Override
  public PromptResult prompt(GetPromptResult result) {
    return Unwire.prompt(result);
  }

  @Override
  public Failure failure(io.mcpedge.v1.Failure failure) {
    return Unwire.failure(failure);
  }

  @Override
  public SamplingRequest sampling(CreateMessage request) {
    return Unwire.sampling(request);
  }

  @Override
  public CreateMessageResult sampled(SamplingResult result) {
    return Wire.sampled(result);
  }

  @Override
  public io.mcpedge.v1.Root root(Root root) {
    return Wire.root(root);
  }

  @Override
  public io.mcpedge.v1.Principal principal(Principal principal) {
    return Wire.principal(principal);
  }

  @Override
  public io.mcpedge.v1.Implementation implementation(Implementation info) {
    return Wire.implementation(info);
  }

  @Override
  public io.mcpedge.v1.ClientCapabilities capabilities(ClientCapabilities can) {
    return Wire.capabilities(can);
  }

  @Override
  public LogLevel level(Level level) {
    return level.wire();
  }

  @Override
  public String json(Object value) {
    return Json.encode(value);
  }

  @Override
  public String misfit(InputRequest question, InputResponse answer) {
    return Question.misfit(question, answer);
  }
}
