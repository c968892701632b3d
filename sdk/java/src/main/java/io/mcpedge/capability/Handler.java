package io.mcpedge.capability;

/** The function of a tool or prompt without arguments. */
@FunctionalInterface
public interface Handler<R> {
  R call(Call call) throws Exception;
}
