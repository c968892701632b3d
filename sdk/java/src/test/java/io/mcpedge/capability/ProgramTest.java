package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.mcpedge.v1.BackendServiceGrpc;
import io.mcpedge.v1.DescribeRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A program as its own process. */
@Timeout(120)
class ProgramTest {
  @TempDir Path folder;
  private Process process;
  private BufferedReader log;

  /** The program. */
  static final class Main {
    private Main() {}

    public static void main(String[] argv) {
      new Capability("program", "1").tool("t", "", call -> "").serve(argv);
    }
  }

  private void start(String... flags) throws IOException {
    List<String> command = new ArrayList<>(List.of(java("java"), "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), Main.class.getName()));
    command.addAll(List.of(flags));
    process = new ProcessBuilder(command).start();
    log = process.errorReader(StandardCharsets.UTF_8);
  }

  @AfterEach
  void end() {
    process.destroyForcibly();
  }

  private int status() throws InterruptedException {
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return process.exitValue();
  }

  /** Returns the address that the program logs. */
  private String serving() throws IOException {
    var line = Json.tree(log.readLine());
    String[] words = line.path("msg").asText().split(" ");
    assertEquals("program serves on", String.join(" ", words[0], words[1], words[2]));
    assertEquals("INFO", line.path("level").asText());
    return words[3];
  }

  private static String describe(String address, ChannelCredentials credentials) {
    ManagedChannel channel = Grpc.newChannelBuilder(address, credentials).build();
    try {
      return BackendServiceGrpc.newBlockingStub(channel).withDeadlineAfter(30, TimeUnit.SECONDS).describe(DescribeRequest.getDefaultInstance())
          .getImplementation().getName();
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void itServesUntilItIsTold() throws Exception {
    start("--listen", "127.0.0.1:0");
    assertEquals("program", describe(serving(), InsecureChannelCredentials.create()));
    process.destroy(); // SIGTERM
    assertEquals(0, status());
  }

  @Test
  void wrongFlagsAreSaid() throws Exception {
    start("--tls-cert=x");
    assertEquals("--tls-cert and --tls-key go together, and --tls-client-ca with them", log.readLine());
    assertEquals(2, status());
  }

  @Test
  void filesThatAreNotThereAreSaid() throws Exception {
    start("--tls-cert", "none.pem", "--tls-key", "none.pem");
    String line = log.readLine();
    assertTrue(line.contains("program failed") && line.contains("none.pem"), line);
    assertEquals(1, status());
  }

  @Test
  void helpIsNoMistake() throws Exception {
    start("--help");
    assertEquals(0, status());
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    int[] at = List.of("Serves program", "--listen ADDR", "--tls-cert FILE", "--tls-key FILE", "--tls-client-ca FILE").stream().mapToInt(said::indexOf).toArray();
    assertTrue(at[0] >= 0 && at[0] < at[1] && at[1] < at[2] && at[2] < at[3] && at[3] < at[4], said);
  }

  @Test
  void pairsThatAreNoneAreSaid() throws Exception {
    certificate("server");
    certificate("other");
    for (var wrong : java.util.Map.of(
        List.of("server.crt", "other.key"), "the key in " + pem("other.key") + " is not that of the certificate in " + pem("server.crt"),
        List.of("server.key", "server.crt"), "the file " + pem("server.key") + " holds no certificate in PEM",
        List.of("server.crt", "server.crt"), "the file " + pem("server.crt") + " holds no private key (RSA or EC, PKCS #8) in PEM").entrySet()) {
      start("--listen=127.0.0.1:0", "--tls-cert", pem(wrong.getKey().get(0)), "--tls-key", pem(wrong.getKey().get(1)));
      String line = log.readLine();
      assertTrue(line.contains(wrong.getValue()), line);
      assertEquals("ERROR", Json.tree(line).path("level").asText());
      assertEquals(1, status());
    }
  }

  @Test
  void itSpeaksTlsWithThoseThatItsAuthorityKnows() throws Exception {
    certificate("server");
    certificate("client");
    start("--listen=127.0.0.1:0", "--tls-cert", pem("server.crt"), "--tls-key", pem("server.key"), "--tls-client-ca", pem("client.crt"));
    String address = serving();
    var trusting = TlsChannelCredentials.newBuilder().trustManager(folder.resolve("server.crt").toFile());
    assertThrows(StatusRuntimeException.class, () -> describe(address, trusting.build()));
    trusting.keyManager(folder.resolve("client.crt").toFile(), folder.resolve("client.key").toFile());
    assertEquals("program", describe(address, trusting.build()));
  }

  private String pem(String name) {
    return folder.resolve(name).toString();
  }

  private static String java(String program) {
    return Path.of(System.getProperty("java.home"), "bin", program).toString();
  }

  /** Makes NAME.crt, which is its own authority, and NAME.key. */
  private void certificate(String name) throws Exception {
    Path store = folder.resolve(name + ".p12");
    Process made = new ProcessBuilder(java("keytool"), "-genkeypair", "-keyalg", "EC", "-alias", "a", "-dname", "CN=" + name, "-ext", "san=ip:127.0.0.1",
        "-ext", "bc=ca:true", "-storetype", "PKCS12", "-storepass", "secret", "-keystore", store.toString()).start();
    assertEquals(0, made.waitFor());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, "secret".toCharArray());
    }
    write(name + ".crt", "CERTIFICATE", keys.getCertificate("a").getEncoded());
    write(name + ".key", "PRIVATE KEY", keys.getKey("a", "secret".toCharArray()).getEncoded());
  }

  private void write(String name, String kind, byte[] bytes) throws IOException {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    Files.writeString(folder.resolve(name), "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
  }
}
