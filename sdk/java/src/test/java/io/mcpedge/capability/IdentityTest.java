package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.CallToolRequest;
import io.mcpedge.v1.CompletePromptRequest;
import io.mcpedge.v1.GetPromptRequest;
import io.mcpedge.v1.ListToolsRequest;
import io.mcpedge.v1.PromptServiceGrpc;
import io.mcpedge.v1.ReadResourceRequest;
import io.mcpedge.v1.ResourceServiceGrpc;
import io.mcpedge.v1.ToolServiceGrpc;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Callers by identities that an edge signs. */
class IdentityTest {
  private static final Metadata.Key<String> HEADER = Metadata.Key.of("mcp-identity", Metadata.ASCII_STRING_MARSHALLER);

  private final AtomicInteger fetches = new AtomicInteger();
  private HttpServer http;
  private volatile int status = 200;
  private volatile String jwks;
  private KeyPair pair;
  private Capability s;

  @BeforeEach
  void edge() throws Exception {
    http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    http.createContext("/", exchange -> {
      fetches.incrementAndGet();
      byte[] body = jwks.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().add("Location", "/elsewhere");
      exchange.sendResponseHeaders(status, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    http.start();
    ed25519("k1");
    s = new Capability("crm", "1").identity(new Identities("http://127.0.0.1:" + http.getAddress().getPort() + "/.well-known/jwks.json", "crm"));
    s.tool("who", "", IdentityTest::who);
    s.prompt("who", "", NoName.class, (call, in) -> who(call), new Complete("name", (call, value, chosen) -> List.of(who(call))));
    s.resource("who://x", "who", "", (call, uri) -> who(call));
  }

  record NoName(java.util.Optional<String> name) {}

  @AfterEach
  void end() {
    http.stop(0);
  }

  private static String who(Call call) {
    Principal p = call.principal();
    return p.subject() + " " + p.issuer() + " " + p.scopes() + " " + p.roles() + " " + p.clientId() + " " + p.actor() + " " + call.claim("tenant").orElseThrow()
        + " " + p.subjectIsClient();
  }

  private static String base64(byte[] bytes) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
  }

  private static String base64(BigInteger number, int size) {
    byte[] all = number.toByteArray();
    byte[] out = new byte[size];
    int n = Math.min(size, all.length);
    System.arraycopy(all, all.length - n, out, size - n, n);
    return base64(out);
  }

  private void publish(String id, String members) {
    jwks = "{\"keys\":[{\"kid\":\"" + id + "\"," + members + "},{\"kty\":\"unknown\",\"kid\":\"other\"}]}";
  }

  private void ed25519(String id) throws Exception {
    pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
    byte[] encoded = pair.getPublic().getEncoded();
    publish(id, "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" + base64(Arrays.copyOfRange(encoded, encoded.length - 32, encoded.length)) + "\"");
  }

  private void curve(String id, String name, String curve, int size) throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec(name));
    pair = generator.generateKeyPair();
    var w = ((ECPublicKey) pair.getPublic()).getW();
    publish(id, "\"kty\":\"EC\",\"crv\":\"" + curve + "\",\"x\":\"" + base64(w.getAffineX(), size) + "\",\"y\":\"" + base64(w.getAffineY(), size) + "\"");
  }

  private void rsa(String id) throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    pair = generator.generateKeyPair();
    var key = (RSAPublicKey) pair.getPublic();
    publish(id, "\"kty\":\"RSA\",\"n\":\"" + base64(key.getModulus(), 256) + "\",\"e\":\"" + base64(key.getPublicExponent().toByteArray()) + "\"");
  }

  private String sign(String algorithm, String id, Map<String, ?> changes) throws Exception {
    return sign(Map.of("alg", algorithm, "kid", id, "typ", "mcp-identity+jwt"), algorithm, changes);
  }

  private String sign(Map<String, ?> header, String algorithm, Map<String, ?> changes) throws Exception {
    Map<String, Object> claims = new HashMap<>(Map.of("sub", "alice", "sub_id", Map.of("iss", "https://id"), "scope", "a b", "roles", List.of("r"), "client_id", "desk",
        "act", Map.of("sub", "agent"), "claims", Map.of("tenant", "acme"), "aud", "crm", "txn", "c1", "exp", System.currentTimeMillis() / 1000 + 60));
    claims.put("subject_is_client", true);
    claims.putAll(changes);
    String text = base64(Json.encode(header).getBytes(StandardCharsets.UTF_8)) + "." + base64(Json.encode(claims).getBytes(StandardCharsets.UTF_8));
    Signature signature = Signature.getInstance(Map.of("EdDSA", "Ed25519", "ES256", "SHA256withECDSAinP1363Format", "ES384", "SHA384withECDSAinP1363Format",
        "RS256", "SHA256withRSA").get(algorithm));
    signature.initSign(pair.getPrivate());
    signature.update(text.getBytes(StandardCharsets.US_ASCII));
    return text + "." + base64(signature.sign());
  }

  private static <S extends io.grpc.stub.AbstractStub<S>> S with(S stub, String... identities) {
    Metadata headers = new Metadata();
    for (String identity : identities) {
      headers.put(HEADER, identity);
    }
    return stub.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  private static String call(TestClient client, String... identities) {
    var request = CallToolRequest.newBuilder().setName("who").setContext(Contexts.DEFAULT.toBuilder().setCallId("c1")).build();
    return with(ToolServiceGrpc.newBlockingStub(client.channel()), identities).callTool(request).next().getResult().getContent(0).getText().getText();
  }

  private static void refused(TestClient client, String why, String... identities) {
    Status status = assertThrows(StatusRuntimeException.class, () -> call(client, identities)).getStatus();
    assertEquals(Status.Code.UNAUTHENTICATED, status.getCode());
    assertTrue(status.getDescription().contains(why), status.getDescription());
  }

  @Test
  void workIsTheVerifiedCallers() throws Exception {
    String want = "alice https://id [a, b] [r] desk agent \"acme\" true";
    try (var client = new TestClient(s)) {
      String token = sign("EdDSA", "k1", Map.of());
      assertEquals(want, call(client, token));
      var context = Contexts.DEFAULT.toBuilder().setCallId("c1");
      assertEquals(want, with(PromptServiceGrpc.newBlockingStub(client.channel()), token).getPrompt(GetPromptRequest.newBuilder().setName("who").setContext(context)
          .build()).next().getResult().getMessages(0).getContent().getText().getText());
      assertEquals(want, with(ResourceServiceGrpc.newBlockingStub(client.channel()), token).readResource(ReadResourceRequest.newBuilder().setUri("who://x")
          .setContext(context).build()).next().getResult().getContents(0).getText());
      var completion = CompletePromptRequest.newBuilder().setName("who").setArgumentName("name").setContext(context).build();
      assertEquals(want, with(PromptServiceGrpc.newBlockingStub(client.channel()), token).completePrompt(completion).getValues(0));
      assertThrows(StatusRuntimeException.class, () -> PromptServiceGrpc.newBlockingStub(client.channel()).completePrompt(completion));
      assertEquals(1, ToolServiceGrpc.newBlockingStub(client.channel()).listTools(ListToolsRequest.getDefaultInstance()).getToolsCount()); // needs none
      assertEquals(1, fetches.get());
    }
  }

  @Test
  void everyAlgorithmIsVerified() throws Exception {
    curve("k2", "secp256r1", "P-256", 32);
    try (var client = new TestClient(s)) {
      assertTrue(call(client, sign("ES256", "k2", Map.of())).startsWith("alice"));
    }
    Map<String, byte[]> signed = new HashMap<>();
    for (String algorithm : List.of("ES384", "RS256")) {
      if (algorithm.equals("RS256")) {
        rsa("k");
      } else {
        curve("k", "secp384r1", "P-384", 48);
      }
      String[] parts = sign(algorithm, "k", Map.of()).split("\\.");
      var key = Jwk.publicKey(Json.tree(jwks).path("keys").get(0));
      signed.put(algorithm, (parts[0] + "." + parts[1]).getBytes(StandardCharsets.US_ASCII));
      byte[] signature = Base64.getUrlDecoder().decode(parts[2]);
      assertTrue(Jwk.verifies(algorithm, key, signed.get(algorithm), signature));
      for (String other : List.of("none", "HS256", "EdDSA", "ES256", algorithm.equals("RS256") ? "ES384" : "RS256")) {
        assertTrue(!Jwk.verifies(other, key, signed.get(algorithm), signature), other);
      }
    }
  }

  @Test
  void whatIsNotCertainIsRefused() throws Exception {
    try (var client = new TestClient(s)) {
      String good = sign("EdDSA", "k1", Map.of());
      refused(client, "the call has 0 identities");
      refused(client, "the call has 2 identities", good, good);
      refused(client, "another call's", sign("EdDSA", "k1", Map.of("txn", "c2")));
      refused(client, "its audience is \"other\"", sign("EdDSA", "k1", Map.of("aud", "other")));
      refused(client, "it has expired", sign("EdDSA", "k1", Map.of("exp", System.currentTimeMillis() / 1000 - 40)));
      refused(client, "it has expired", sign("EdDSA", "k1", Map.of("exp", "later")));
      refused(client, "it is not valid yet", sign("EdDSA", "k1", Map.of("nbf", System.currentTimeMillis() / 1000 + 40)));
      refused(client, "its type is \"JWT\"", sign(Map.of("alg", "EdDSA", "kid", "k1", "typ", "JWT"), "EdDSA", Map.of()));
      refused(client, "its signature is not that of the key", sign(Map.of("alg", "none", "kid", "k1", "typ", "mcp-identity+jwt"), "EdDSA", Map.of()));
      refused(client, "its signature is not that of the key", good.substring(0, good.length() - 8) + "AAAAAAAA");
      refused(client, "it is no JWT", "a.b");
      refused(client, "", "a.b.c");
      refused(client, "the key \"k9\", which is not among those", sign("EdDSA", "k9", Map.of()));
      assertTrue(call(client, sign("EdDSA", "k1", Map.of("aud", List.of("x", "crm")))).startsWith("alice"));
    }
  }

  @Test
  void withoutKeysWorkIsUnavailable() throws Exception {
    for (int answer : new int[] {503, 302}) {
      status = answer;
      s.identity(new Identities("http://127.0.0.1:" + http.getAddress().getPort() + "/", "crm"));
      try (var client = new TestClient(s)) {
        String token = sign("EdDSA", "k1", Map.of());
        Status got = assertThrows(StatusRuntimeException.class, () -> call(client, token)).getStatus();
        assertEquals(Status.Code.UNAVAILABLE, got.getCode());
        assertTrue(got.getDescription().contains("answers " + answer), got.getDescription());
        assertThrows(StatusRuntimeException.class, () -> call(client, token));
      }
    }
    assertTrue(fetches.get() <= 4, fetches + " fetches");
    for (String[] wrong : new String[][] {{"", "crm"}, {"http://edge/", ""}, {"edge", "crm"}, {null, "crm"}}) {
      assertThrows(DefinitionException.class, () -> new Identities(wrong[0], wrong[1]));
    }
  }
}
