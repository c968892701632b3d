package io.mcpedge.capability;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigInteger;
import java.security.*;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.*;
import java.util.Base64;
import java.util.HexFormat;

/** Public keys in JSON (RFC 7517), and the signatures of EdDSA, ES256, ES384 and RS256 (RFC 7518). */
final class Jwk {
  /** The prefix of a raw Ed25519 key in X.509 (RFC 8410). */
  private static final String ED25519 = "302a300506032b6570032100";

  private Jwk() {}

  /** Returns the key; null if it is invalid or of another kind. */
  static PublicKey publicKey(JsonNode jwk) {
    try {
      return switch (jwk.path("kty").asText() + " " + jwk.path("crv").asText("")) {
        case "OKP Ed25519" -> ed25519(bytes(jwk, "x"));
        case "EC P-256" -> curve("secp256r1", jwk);
        case "EC P-384" -> curve("secp384r1", jwk);
        case "RSA " -> KeyFactory.getInstance("RSA").generatePublic(new RSAPublicKeySpec(number(jwk, "n"), number(jwk, "e")));
        default -> null;
      };
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      return null;
    }
  }

  private static byte[] bytes(JsonNode jwk, String name) {
    return Base64.getUrlDecoder().decode(jwk.path(name).asText(""));
  }

  private static BigInteger number(JsonNode jwk, String name) {
    return new BigInteger(1, bytes(jwk, name));
  }

  private static PublicKey ed25519(byte[] raw) throws GeneralSecurityException {
    if (raw.length != 32) {
      return null;
    }
    return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(HexFormat.of().parseHex(ED25519 + HexFormat.of().formatHex(raw))));
  }

  private static PublicKey curve(String name, JsonNode jwk) throws GeneralSecurityException {
    AlgorithmParameters parameters = AlgorithmParameters.getInstance("EC");
    parameters.init(new ECGenParameterSpec(name));
    ECPoint point = new ECPoint(number(jwk, "x"), number(jwk, "y"));
    return KeyFactory.getInstance("EC").generatePublic(new ECPublicKeySpec(point, parameters.getParameterSpec(ECParameterSpec.class)));
  }

  /** Returns whether a signature is valid for a key. False for an algorithm that is not permitted or does not suit the key. */
  static boolean verifies(String algorithm, PublicKey key, byte[] signed, byte[] signature) throws GeneralSecurityException {
    int bits = key instanceof ECPublicKey ec ? ec.getParams().getOrder().bitLength() : 0;
    String name = switch (algorithm) {
      case "EdDSA" -> key instanceof EdECPublicKey ? "Ed25519" : null;
      case "ES256" -> bits == 256 ? "SHA256withECDSAinP1363Format" : null;
      case "ES384" -> bits == 384 ? "SHA384withECDSAinP1363Format" : null;
      case "RS256" -> key instanceof RSAPublicKey ? "SHA256withRSA" : null;
      default -> null;
    };
    if (name == null) {
      return false;
    }
    Signature verifier = Signature.getInstance(name);
    verifier.initVerify(key);
    verifier.update(signed);
    try {
      return verifier.verify(signature);
    } catch (SignatureException e) {
      return false;
    }
  }
}
