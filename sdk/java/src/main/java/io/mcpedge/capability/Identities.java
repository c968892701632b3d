package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import io.grpc.*;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.PublicKey;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.StreamSupport;

/**
 * Verifies callers by identities that the edge signs for each call, for {@link Capability#identity}. Keys are used for an hour if they
 * cannot be fetched again; without keys, calls end as UNAVAILABLE.
 */
public final class Identities {
  /** Copies the identities in the metadata of a call into its context. */
  static final ServerInterceptor HEADERS = new ServerInterceptor() {
    @Override
    public <Q, R> ServerCall.Listener<Q> interceptCall(ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
      Iterable<String> all = headers.getAll(HEADER);
      List<String> sent = all == null ? List.of() : StreamSupport.stream(all.spliterator(), false).toList();
      return Contexts.interceptCall(Context.current().withValue(SENT, sent), call, headers, next);
    }
  };

  private static final Metadata.Key<String> HEADER = Metadata.Key.of("mcp-identity", Metadata.ASCII_STRING_MARSHALLER);
  private static final Context.Key<List<String>> SENT = Context.key("mcpedge-identity");
  private static final String TYPE = "mcp-identity+jwt";
  /** The tolerated difference between the clocks of the edge and of the service, in seconds. */
  private static final long SKEW = 30;
  /** The interval at which keys are fetched again while calls arrive. */
  private static final long REFRESH = TimeUnit.MINUTES.toNanos(5);
  /** How long keys are used if they cannot be fetched again. */
  private static final long KEPT = TimeUnit.HOURS.toNanos(1);
  /** The minimum interval between two fetches because of an unknown key or a failed fetch. */
  private static final long AGAIN = TimeUnit.SECONDS.toNanos(1);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);
  /** The maximum size of a JWK Set, in bytes. */
  private static final int BYTES = 1 << 20;

  private final URI url;
  private final String audience;
  private final HttpClient http;
  private volatile Keys keys; // null before the first
  private volatile long tried = System.nanoTime() - KEPT;
  private volatile String failed = "";
  private volatile boolean refreshing;

  /** The keys of one fetch, by their ids, and its time. */
  private record Keys(Map<String, PublicKey> byId, long at) {
    boolean olderThan(long nanos) {
      return System.nanoTime() - at >= nanos;
    }
  }

  /**
   * Verifies by the edge's public keys.
   *
   * @param jwksUrl /.well-known/jwks.json on the edge's admin address
   * @param audience the backend's name in the edge's settings, which have {@code identity: signed}
   */
  public Identities(String jwksUrl, String audience) {
    if (jwksUrl == null || jwksUrl.isEmpty() || audience == null || audience.isEmpty()) {
      throw new DefinitionException("Identities needs the URL of the edge's keys and the backend's name; give both");
    }
    try {
      url = URI.create(jwksUrl);
      HttpRequest.newBuilder(url);
    } catch (IllegalArgumentException e) {
      throw new DefinitionException("the URL of the edge's keys, " + Json.quote(jwksUrl) + ", is none: give one such as http://edge:9090/.well-known/jwks.json", e);
    }
    this.audience = audience;
    http = HttpClient.newBuilder().connectTimeout(TIMEOUT).followRedirects(HttpClient.Redirect.NEVER).build(); // a redirect could give other keys
  }

  /** The identities of the current call. */
  static List<String> sent() {
    List<String> sent = SENT.get();
    return sent == null ? List.of() : sent;
  }

  /** Returns the verified caller of a call. Throws StatusRuntimeException: UNAUTHENTICATED if the identity is invalid, UNAVAILABLE without keys. */
  Principal verify(List<String> sent, String call) {
    if (sent.size() != 1) {
      throw refused("the call has " + sent.size() + " identities (metadata " + HEADER.name() + "): have the edge sign one, with identity: signed of this backend");
    }
    try {
      JsonNode claims = claims(sent.get(0));
      if (claims.path("txn").asText("").isEmpty() || !claims.get("txn").asText().equals(call)) {
        throw refused("the identity is another call's: its txn is not the call_id");
      }
      return principal(claims);
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw refused("the identity of the call is not accepted: " + e.getMessage());
    }
  }

  /** The claims of a signed identity (RFC 7519) that is valid now. */
  private JsonNode claims(String token) throws GeneralSecurityException {
    String[] parts = token.split("\\.", -1);
    if (parts.length != 3) {
      throw new IllegalArgumentException("it is no JWT");
    }
    JsonNode header = part(parts[0]);
    if (!header.path("typ").asText().equalsIgnoreCase(TYPE)) {
      throw new IllegalArgumentException("its type is " + Json.quote(header.path("typ").asText()) + ", not " + TYPE);
    }
    if (header.has("crit")) {
      throw new IllegalArgumentException("it has a critical extension, which is unknown");
    }
    PublicKey key = key(header.path("kid").asText());
    byte[] signed = (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII);
    if (!Jwk.verifies(header.path("alg").asText(), key, signed, Base64.getUrlDecoder().decode(parts[2]))) {
      throw new IllegalArgumentException("its signature is not that of the key " + Json.quote(header.path("kid").asText()));
    }
    JsonNode claims = part(parts[1]);
    double now = System.currentTimeMillis() / 1000.0;
    if (!claims.path("exp").isNumber() || now > claims.get("exp").asDouble() + SKEW) {
      throw new IllegalArgumentException("it has expired, or has no exp");
    }
    if (claims.has("nbf") && now < claims.get("nbf").asDouble(Double.MAX_VALUE) - SKEW) {
      throw new IllegalArgumentException("it is not valid yet");
    }
    JsonNode aud = claims.path("aud");
    boolean mine = aud.isArray() ? aud.valueStream().anyMatch(a -> a.asText().equals(audience)) : aud.asText().equals(audience);
    if (!mine) {
      throw new IllegalArgumentException("its audience is " + aud + ", not " + Json.quote(audience));
    }
    return claims;
  }

  private static JsonNode part(String text) {
    return Json.tree(new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8));
  }

  private static Principal principal(JsonNode claims) {
    Map<String, RawJson> more = new LinkedHashMap<>();
    claims.path("claims").properties().forEach(claim -> more.put(claim.getKey(), new RawJson(claim.getValue().toString())));
    List<String> scopes = Arrays.stream(claims.path("scope").asText("").split(" ")).filter(scope -> !scope.isEmpty()).toList();
    List<String> roles = claims.path("roles").valueStream().map(JsonNode::asText).toList();
    return new Principal(claims.path("sub").asText(""), claims.at("/sub_id/iss").asText(""), scopes, roles, claims.path("client_id").asText(""),
        claims.at("/act/sub").asText(""), claims.path("subject_is_client").asBoolean(), more);
  }

  /**
   * A key by its id. The keys are fetched for an unknown one. Known keys stay in use while they are fetched again, unless the last attempt
   * is long ago: they may be withdrawn.
   */
  private PublicKey key(String id) {
    Keys known = keys;
    if (known == null || known.olderThan(KEPT) || !known.byId.containsKey(id) || System.nanoTime() - tried >= 2 * REFRESH) {
      fetch(known);
    } else if (known.olderThan(REFRESH) && !refreshing) {
      refreshing = true;
      CompletableFuture.runAsync(() -> fetch(known)).whenComplete((done, e) -> refreshing = false);
    }
    Keys fresh = keys;
    if (fresh == null || fresh.olderThan(KEPT)) {
      throw Status.UNAVAILABLE.withDescription("the edge's keys, which verify callers, cannot be fetched: " + failed).asRuntimeException();
    }
    PublicKey key = fresh.byId.get(id);
    if (key == null) {
      throw new IllegalArgumentException("it is signed with the key " + Json.quote(id) + ", which is not among those of " + url);
    }
    return key;
  }

  /** Fetches the keys, unless they are no longer those in before, or the last attempt is too recent. */
  private synchronized void fetch(Keys before) {
    if (keys != before || System.nanoTime() - tried < AGAIN) {
      return;
    }
    tried = System.nanoTime();
    try {
      keys = new Keys(read(), System.nanoTime());
    } catch (IOException | IllegalArgumentException e) {
      failed = Rounds.text(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failed = "the call was cancelled";
      tried = System.nanoTime() - AGAIN;
    }
  }

  /** Reads the JWK Set (RFC 7517, section 5). Unusable keys are omitted. */
  private Map<String, PublicKey> read() throws IOException, InterruptedException {
    var response = http.send(HttpRequest.newBuilder(url).timeout(TIMEOUT).build(), HttpResponse.BodyHandlers.ofInputStream());
    try (InputStream in = response.body()) {
      if (response.statusCode() != 200) {
        throw new IOException(url + " answers " + response.statusCode());
      }
      byte[] body = in.readNBytes(BYTES + 1);
      if (body.length > BYTES) {
        throw new IOException(url + " answers more than " + BYTES + " bytes");
      }
      Map<String, PublicKey> found = new HashMap<>();
      for (JsonNode jwk : Json.tree(new String(body, StandardCharsets.UTF_8)).path("keys")) {
        PublicKey key = Jwk.publicKey(jwk);
        if (key != null && !jwk.path("kid").asText("").isEmpty()) {
          found.put(jwk.get("kid").asText(), key);
        }
      }
      if (found.isEmpty()) {
        throw new IOException(url + " has no usable key");
      }
      return found;
    }
  }

  private static StatusRuntimeException refused(String message) {
    return Status.UNAUTHENTICATED.withDescription(message).asRuntimeException();
  }
}
