package io.mcpedge.capability;

import com.google.protobuf.MessageLite;
import io.grpc.Status;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;

/**
 * One page of a list, limited in items and in bytes, with at least one item. The token has the position and the key of the last item of
 * the page before, so that items which are added or removed meanwhile shift nothing.
 *
 * @param next the token of the next page; empty for the last
 */
record Page<E>(List<E> items, String next) {
  private static final int COUNT = 1000;
  private static final int BYTES = 3 << 20; // receivers default to 4 MiB

  static <E extends MessageLite> Page<E> of(List<E> all, Function<E, String> key, String token, int size) {
    int start = start(all, key, token);
    int limit = size > 0 ? Math.min(size, COUNT) : COUNT;
    int end = start;
    for (int bytes = 0; end < all.size() && end - start < limit; end++) {
      bytes += all.get(end).getSerializedSize() + 8; // with its tag and length
      if (bytes > BYTES && end > start) {
        break;
      }
    }
    String next = end == all.size() ? "" : end + "-" + Long.toHexString(hash(key.apply(all.get(end - 1))));
    return new Page<>(all.subList(start, end), next);
  }

  private static <E> int start(List<E> all, Function<E, String> key, String token) {
    if (token.isEmpty()) {
      return 0;
    }
    if (!token.matches("[1-9][0-9]{0,8}-[0-9a-f]{1,16}")) {
      String why = "page token " + Json.quote(token) + " was not given by this list; start from the first page";
      throw Status.INVALID_ARGUMENT.withDescription(why).asRuntimeException();
    }
    int dash = token.indexOf('-');
    int offset = Integer.parseInt(token.substring(0, dash));
    long hash = Long.parseUnsignedLong(token.substring(dash + 1), 16);
    if (offset <= all.size() && hash(key.apply(all.get(offset - 1))) == hash) {
      return offset;
    }
    for (int i = 0; i < all.size(); i++) {
      if (hash(key.apply(all.get(i))) == hash) {
        return i + 1;
      }
    }
    return Math.min(offset - 1, all.size()); // the last one is gone: those after it moved up by one
  }

  /** FNV-1a of 64 bits. */
  private static long hash(String key) {
    long hash = 0xcbf29ce484222325L;
    for (byte b : key.getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
    }
    return hash;
  }
}
