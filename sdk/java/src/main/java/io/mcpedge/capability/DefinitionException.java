package io.mcpedge.capability;

/** A tool, resource, prompt or question that cannot be served: a fault of the program, thrown where it is defined. */
public final class DefinitionException extends IllegalArgumentException {
  private static final long serialVersionUID = 1;

  DefinitionException(String message) {
    super(message);
  }

  DefinitionException(String message, Throwable cause) {
    super(message, cause);
  }

  /** Throws if a handler or a provider is null. */
  static void unlessGiven(String what, Object given) {
    if (given == null) {
      throw new DefinitionException(what + " is null; give one");
    }
  }

  /** Throws if a name or a description is null. */
  static void unlessNamed(String what, String name, String description) {
    if (name == null) {
      throw new DefinitionException("a " + what + "'s name is null; give a text");
    }
    if (description == null) {
      throw new DefinitionException(what + " " + name + ": the description is null; give a text, or \"\"");
    }
  }
}
