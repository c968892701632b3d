package io.mcpedge.capability;

import java.lang.annotation.*;

/**
 * Bounds the values of a component; on a list, bounds of values are for its items. Members that are not set bound nothing. The
 * keywords of JSON Schema have the same names; {@code min} and {@code max} are minimum and maximum.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT})
public @interface Limits {
  double min() default Double.NEGATIVE_INFINITY;

  double max() default Double.POSITIVE_INFINITY;

  /** In code points; of a byte[], as maxLength, in bytes. */
  int minLength() default -1;

  int maxLength() default -1;

  String pattern() default "";

  /** Such as email, uri or date-time. */
  String format() default "";

  int minItems() default -1;

  int maxItems() default -1;

  boolean uniqueItems() default false;

  /** The permitted strings, as an alternative to an enum of Java. JSON Schema: enum. */
  String[] oneOf() default {};
}
