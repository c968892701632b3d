package io.mcpedge.capability;

import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.util.concurrent.*;

/**
 * TLS by PEM files, which are read again each minute, so that they can be exchanged while it serves: while they cannot be used, new
 * connections get what was read last.
 */
record Tls(ServerCredentials credentials, ScheduledExecutorService reloads) implements AutoCloseable {
  /** Null without a certificate. A client CA: clients need a certificate of it. */
  static Tls of(File cert, File key, File clientCa) throws IOException, GeneralSecurityException {
    if (cert == null) {
      return null;
    }
    for (File file : new File[] {cert, key, clientCa}) {
      if (file != null && !file.canRead()) {
        throw new IOException("the file " + file + " for TLS is not there, or may not be read");
      }
    }
    var reloads = Executors.newSingleThreadScheduledExecutor(r -> {
      Thread thread = new Thread(r, "tls-files");
      thread.setDaemon(true);
      return thread;
    });
    var own = new AdvancedTlsX509KeyManager();
    own.updateIdentityCredentials(cert, key, 1, TimeUnit.MINUTES, reloads);
    var credentials = TlsServerCredentials.newBuilder().keyManager(own);
    if (clientCa != null) {
      var trust = AdvancedTlsX509TrustManager.newBuilder().setVerification(AdvancedTlsX509TrustManager.Verification.CERTIFICATE_ONLY_VERIFICATION).build();
      trust.updateTrustCredentials(clientCa, 1, TimeUnit.MINUTES, reloads);
      credentials.trustManager(trust).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return new Tls(credentials.build(), reloads);
  }

  @Override
  public void close() {
    reloads.shutdownNow();
  }
}
