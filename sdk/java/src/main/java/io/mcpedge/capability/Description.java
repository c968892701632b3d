package io.mcpedge.capability;

import java.lang.annotation.*;

/** Describes a component of a record to the model. JSON Schema: description. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Description {
  String value();
}
