package io.mcpedge.capability;

import java.lang.annotation.*;

/**
 * The value of a component that is left out, which it may then be: JSON that fits its type; of a string or an enum the text alone
 * will do. JSON Schema: default.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT})
public @interface Default {
  String value();
}
