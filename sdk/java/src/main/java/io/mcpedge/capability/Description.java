package io.mcpedge.capability;

import java.lang.annotation.*;

/** Says for the model what a component of a record is. JSON Schema: description. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT, ElementType.TYPE})
public @interface Description {
  String value();
}
