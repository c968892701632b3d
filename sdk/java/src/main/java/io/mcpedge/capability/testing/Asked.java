package io.mcpedge.capability.testing;

import io.mcpedge.capability.RawJson;
import io.mcpedge.capability.SamplingRequest;
import io.mcpedge.capability.internal.Bridge;
import io.mcpedge.v1.InputRequest;

/**
 * A question that a handler asked.
 *
 * @param message what the user reads; empty for other kinds than FORM and URL
 * @param schema the form; null for other kinds
 * @param url the page; empty for other kinds
 * @param sampling the request to the client's model; null for other kinds
 * @param request the request of another kind; null for those above
 */
public record Asked(String key, Kind kind, String message, RawJson schema, String url, SamplingRequest sampling, RawJson request) {
  /** The kind of a question. */
  public enum Kind {
    FORM,
    URL,
    SAMPLING,
    ROOTS,
    OTHER
  }

  static Asked of(InputRequest q) {
    return switch (q.getRequestCase()) {
      case ELICIT_FORM -> new Asked(q.getKey(), Kind.FORM, q.getElicitForm().getMessage(), new RawJson(q.getElicitForm().getRequestedSchemaJson()), "", null,
          null);
      case ELICIT_URL -> new Asked(q.getKey(), Kind.URL, q.getElicitUrl().getMessage(), null, q.getElicitUrl().getUrl(), null, null);
      case CREATE_MESSAGE -> new Asked(q.getKey(), Kind.SAMPLING, "", null, "", Bridge.get().sampling(q.getCreateMessage()), null);
      case LIST_ROOTS -> new Asked(q.getKey(), Kind.ROOTS, "", null, "", null, null);
      default -> new Asked(q.getKey(), Kind.OTHER, "", null, "", null, new RawJson(q.getRawJson()));
    };
  }
}
