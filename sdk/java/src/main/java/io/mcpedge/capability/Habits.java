package io.mcpedge.capability;

import com.github.victools.jsonschema.generator.FieldScope;
import java.lang.annotation.Annotation;
import java.util.Set;
import java.util.stream.Stream;

/** Annotations of other libraries that describe components, which are read by their names: Spring AI's, and Nullable. */
final class Habits {
  private static final Set<String> PARAMETERS = Set.of("org.springframework.ai.tool.annotation.ToolParam",
      "org.springframework.ai.mcp.annotation.McpToolParam", "org.springaicommunity.mcp.annotation.McpToolParam");

  private Habits() {}

  /** The description of a component; null if there is none. */
  static String description(FieldScope field) {
    Description own = field.getAnnotation(Description.class);
    return own != null ? own.value() : parameters(field).map(a -> (String) member(a, "description")).filter(text -> !text.isEmpty()).findFirst().orElse(null);
  }

  /** Returns whether an annotation makes a component optional, so that it may be null. */
  static boolean mayBeMissing(FieldScope field) {
    var type = field.getRawMember().getAnnotatedType();
    boolean nullable = Stream.concat(Stream.of(field.getRawMember().getAnnotations()), Stream.of(type.getAnnotations()))
        .anyMatch(a -> a.annotationType().getSimpleName().equals("Nullable"));
    return nullable || parameters(field).anyMatch(a -> Boolean.FALSE.equals(member(a, "required")));
  }

  private static Stream<Annotation> parameters(FieldScope field) {
    return Stream.of(field.getRawMember().getAnnotations()).filter(a -> PARAMETERS.contains(a.annotationType().getName()));
  }

  /** The value of a member of an annotation. */
  static Object member(Annotation annotation, String name) {
    try {
      return annotation.annotationType().getMethod(name).invoke(annotation);
    } catch (ReflectiveOperationException e) {
      throw new DefinitionException("@" + annotation.annotationType().getSimpleName() + " has no " + name + ": use @Description, @Limits and Optional", e);
    }
  }
}
