package io.mcpedge.capability;

import java.lang.annotation.*;

/** Makes clients send the argument in the HTTP header Mcp-Param-NAME, too. JSON Schema: x-mcp-header. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.FIELD, ElementType.RECORD_COMPONENT})
public @interface Header {
  String value();
}
