package io.mcpedge.capability;

/** A tool, resource, prompt or question that cannot be served: a mistake of the program, found where it is defined. */
public final class DefinitionException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  DefinitionException(String message) {
    super(message);
  }

  DefinitionException(String message, Throwable cause) {
    super(message, cause);
  }
}
