package io.mcpedge.capability;

/** The function of a tool. {@link Capability#tool} describes how its value and its exceptions are converted. */
@FunctionalInterface
public interface ToolHandler<A, R> {
  R call(Call call, A arguments) throws Exception;
}
