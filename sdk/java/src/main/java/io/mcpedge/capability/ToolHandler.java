package io.mcpedge.capability;

/** The function of a tool. {@link Capability#tool} says what becomes of what it returns and throws. */
@FunctionalInterface
public interface ToolHandler<A, R> {
  R call(Call call, A arguments) throws Exception;
}
