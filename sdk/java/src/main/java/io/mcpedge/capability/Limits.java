package io.mcpedge.capability;

import java.lang.annotation.*;

/**
 * What the values of a component are held to; on a list, bounds of values are those of its items. What is not set bounds nothing.
 * The keywords of JSON Schema are those of the same names, and {@code min} and {@code max} are minimum and maximum.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT})
public @interface Limits {
  double min() default Double.NEGATIVE_INFINITY;

  double max() default Double.POSITIVE_INFINITY;

  /** In code points. */
  int minLength() default -1;

  int maxLength() default -1;

  String pattern() default "";

  /** Such as email, uri or date-time. */
  String format() default "";

  int minItems() default -1;

  int maxItems() default -1;

  boolean uniqueItems() default false;

  /** The strings that there are; an enum of Java says it too. JSON Schema: enum. */
  String[] oneOf() default {};
}
