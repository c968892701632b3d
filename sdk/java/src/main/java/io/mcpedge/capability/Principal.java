package io.mcpedge.capability;

import java.util.List;
import java.util.Map;

/**
 * The caller. Its members are empty where the credentials do not have them.
 *
 * @param subject the id of the caller; empty means anonymous
 * @param issuer the issuer of the subject's access token
 * @param scopes the OAuth scopes of the access token
 * @param roles the roles by the settings of the edge
 * @param clientId the OAuth client
 * @param actor the id of the program that acts for the subject
 * @param subjectIsClient whether the subject is a program, not a person
 * @param claims claims of the access token by their names: those that the edge's setting {@code claims} of this backend names
 */
public record Principal(
    String subject, String issuer, List<String> scopes, List<String> roles, String clientId, String actor, boolean subjectIsClient,
    Map<String, RawJson> claims) {
  public Principal {
    subject = Texts.orEmpty(subject);
    issuer = Texts.orEmpty(issuer);
    scopes = scopes == null ? List.of() : List.copyOf(scopes);
    roles = roles == null ? List.of() : List.copyOf(roles);
    clientId = Texts.orEmpty(clientId);
    actor = Texts.orEmpty(actor);
    claims = claims == null ? Map.of() : Map.copyOf(claims);
  }

  /** A principal with a subject only; "" means anonymous. */
  public Principal(String subject) {
    this(subject, "", List.of(), List.of(), "", "", false, Map.of());
  }

  /** Whether the caller has no identity. */
  public boolean isAnonymous() {
    return subject.isEmpty();
  }
}
