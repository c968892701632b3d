package io.mcpedge.capability;

import java.lang.annotation.*;

/**
 * Makes a component optional, with this value if it is missing: JSON that fits its type; for a string or an enum the text alone
 * suffices. JSON Schema: default.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT})
public @interface Default {
  String value();
}
