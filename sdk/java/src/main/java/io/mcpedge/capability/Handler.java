package io.mcpedge.capability;

/** The function of what takes no arguments. */
@FunctionalInterface
public interface Handler<R> {
  R call(Call call) throws Exception;
}
