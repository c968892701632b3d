package io.mcpedge.capability;

import java.util.Map;

/**
 * What a client can be asked. MCP: ClientCapabilities.
 *
 * @param form {@link Call#ask} and {@link Call#askForm}
 * @param url {@link Call#askUrl}
 * @param sampling {@link Call#sample}
 * @param samplingTools sampling with tools
 * @param roots {@link Call#roots}
 * @param extensions the settings of the client's extensions, by their ids
 */
public record ClientCapabilities(
    boolean form, boolean url, boolean sampling, boolean samplingTools, boolean roots, Map<String, RawJson> extensions) {
  public ClientCapabilities {
    extensions = extensions == null ? Map.of() : Map.copyOf(extensions);
  }
}
