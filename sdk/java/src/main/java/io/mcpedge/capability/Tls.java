package io.mcpedge.capability;

import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.util.AdvancedTlsX509KeyManager;
import io.grpc.util.AdvancedTlsX509TrustManager;
import io.grpc.util.CertificateUtils;
import java.io.*;
import java.security.*;
import java.security.cert.X509Certificate;
import java.util.concurrent.*;

/**
 * TLS by PEM files, which are reread each minute, so that they can be replaced while it serves. If they are invalid, new
 * connections use the last valid ones.
 */
record Tls(ServerCredentials credentials, ScheduledExecutorService reloads) implements AutoCloseable {
  /** Returns null without a certificate. With a client CA, clients need a certificate that it has signed. */
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
    readPair(own, cert, key);
    reloads.scheduleWithFixedDelay(() -> {
      try {
        readPair(own, cert, key);
      } catch (IOException | GeneralSecurityException | RuntimeException e) {
        System.getLogger("io.mcpedge.capability").log(System.Logger.Level.WARNING, "the files that were read last stay in use: " + Rounds.text(e));
      }
    }, 1, 1, TimeUnit.MINUTES);
    var credentials = TlsServerCredentials.newBuilder().keyManager(own);
    if (clientCa != null) {
      var trust = AdvancedTlsX509TrustManager.newBuilder().setVerification(AdvancedTlsX509TrustManager.Verification.CERTIFICATE_ONLY_VERIFICATION).build();
      trust.updateTrustCredentials(clientCa, 1, TimeUnit.MINUTES, reloads);
      credentials.trustManager(trust).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE);
    }
    return new Tls(credentials.build(), reloads);
  }

  /** Reads the certificate and its key, for new connections. An exception names the file; nothing is changed then. */
  private static void readPair(AdvancedTlsX509KeyManager own, File cert, File key) throws IOException, GeneralSecurityException {
    X509Certificate[] chain = read(cert, "certificate", CertificateUtils::getX509Certificates);
    PrivateKey secret = read(key, "private key (RSA or EC, PKCS #8)", CertificateUtils::getPrivateKey);
    if (chain.length == 0) {
      throw new IOException("the file " + cert + " holds no certificate in PEM");
    }
    if (!signs(secret, chain[0].getPublicKey())) {
      throw new IOException("the key in " + key + " is not that of the certificate in " + cert + " (of a chain, the first): give the pair");
    }
    own.updateIdentityCredentials(chain, secret);
  }

  /** Reads PEM. */
  private interface Reader<T> {
    T read(InputStream in) throws IOException, GeneralSecurityException;
  }

  private static <T> T read(File file, String what, Reader<T> reader) throws IOException {
    try (InputStream in = new FileInputStream(file)) {
      return reader.read(in);
    } catch (GeneralSecurityException | RuntimeException e) {
      throw new IOException("the file " + file + " holds no " + what + " in PEM", e);
    }
  }

  private static boolean signs(PrivateKey secret, PublicKey key) throws GeneralSecurityException {
    Signature signature = Signature.getInstance(secret.getAlgorithm().equals("EC") ? "SHA256withECDSA" : "SHA256withRSA");
    signature.initSign(secret);
    byte[] signed = signature.sign();
    try {
      signature.initVerify(key);
      return signature.verify(signed);
    } catch (InvalidKeyException | SignatureException e) {
      return false; // of another algorithm, or another size
    }
  }

  @Override
  public void close() {
    reloads.shutdownNow();
  }
}
