package io.mcpedge.capability;

import java.io.FileNotFoundException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

/** Converts resources, templates, and the values of their handlers. */
final class Resources {
  private static final Set<String> BINARY =
      Set.of("application/octet-stream", "application/pdf", "application/zip", "application/gzip", "application/wasm");

  private Resources() {}

  record Entry(io.mcpedge.v1.Resource listed, ResourceHandler read) {}

  record Template(io.mcpedge.v1.ResourceTemplate listed, UriTemplate parsed, TemplateReader read, Map<String, Complete.Completer> completers) {}

  /** Reads a URI that a template has matched. */
  interface TemplateReader {
    Object read(Call call, String uri, Map<String, String> variables) throws Exception;
  }

  /** Reads one URI. */
  interface Reader {
    ReadResult read(Call call) throws Exception;
  }

  static Entry entry(Resource resource, ResourceHandler read) {
    unlessListed("resource", resource.uri(), resource.name(), resource.mimeType());
    return new Entry(Wire.resource(resource), read);
  }

  static Template template(ResourceTemplate template, TemplateReader read, Complete... completes) {
    unlessListed("template", template.uriTemplate(), template.name(), template.mimeType());
    UriTemplate parsed = new UriTemplate(template.uriTemplate());
    var completers = Complete.of("template " + Json.quote(template.uriTemplate()), parsed.variables(), completes);
    return new Template(Wire.template(template), parsed, read, completers);
  }

  /** Throws DefinitionException if the URI is not absolute, the name is missing, or the MIME type is invalid. */
  private static void unlessListed(String what, String uri, String name, String mimeType) {
    if (!mimeType.isEmpty() && !mimeType.contains("/")) {
      throw new DefinitionException(what + " " + Json.quote(uri) + ": the MIME type " + Json.quote(mimeType)
          + " has no slash; the order is URI, name, MIME type, and \"\" is an unknown type");
    }
    if (!UriTemplate.absolute(uri) || name.isEmpty()) {
      throw new DefinitionException(what + " " + Json.quote(uri) + ", name " + Json.quote(name)
          + ": an absolute URI, such as notes://today, and a name are required");
    }
  }

  /** Calls a handler, and converts its value, with URI and MIME type filled in. */
  static ReadResult read(String uri, String mimeType, Handler<Object> handler, Call call) throws Exception {
    Object value;
    try {
      value = Official.settled(handler.call(call));
    } catch (Exception e) {
      Throwable cause = e instanceof UncheckedIOException ? e.getCause() : Rounds.unwrapped(e);
      if (cause instanceof NoSuchFileException || cause instanceof FileNotFoundException) {
        throw Failure.notFound("resource", uri);
      }
      if (cause instanceof AccessDeniedException) {
        throw new Failure(Reason.PERMISSION_DENIED, "resource " + Json.quote(uri) + " may not be read");
      }
      throw e;
    }
    if (value instanceof String text) {
      return new ReadResult(List.of(Content.contents(uri, mimeType, text)));
    }
    if (value instanceof byte[] bytes) {
      return new ReadResult(List.of(ofBytes(uri, mimeType, bytes)));
    }
    Official official = new Official("the read of " + Json.quote(uri), "return its JSON as a String");
    ReadResult converted = value instanceof ReadResult own ? own : official.read(value);
    Map<String, Object> meta = converted == null ? null : converted.meta();
    value = converted == null ? value : converted.contents();
    List<?> all = value == null ? List.of() : value instanceof List<?> list ? list : List.of(value);
    if (all.isEmpty()) {
      throw Failure.notFound("resource", uri);
    }
    List<ResourceContents> out = new ArrayList<>();
    for (Object one : all) {
      ReadResult given = one instanceof ResourceContents contents ? new ReadResult(List.of(contents)) : official.read(one);
      if (given == null) {
        throw official.fail("a " + (one == null ? "null" : one.getClass().getSimpleName()) + ": return a String, a byte[], ResourceContents or a ReadResult");
      }
      given.contents().forEach(contents -> out.add(completed(contents, uri, mimeType)));
    }
    return new ReadResult(out, meta);
  }

  /** Sets the URI and the MIME type if they are empty. */
  private static ResourceContents completed(ResourceContents contents, String uri, String mimeType) {
    String of = contents.uri().isEmpty() ? uri : contents.uri();
    String type = contents.mimeType().isEmpty() ? mimeType : contents.mimeType();
    return contents instanceof BlobResourceContents blob ? new BlobResourceContents(of, type, blob.blob(), blob.meta())
        : new TextResourceContents(of, type, contents.text(), contents.meta());
  }

  /** Returns contents of bytes: text, if they are UTF-8 and the MIME type permits it. */
  static ResourceContents ofBytes(String uri, String mimeType, byte[] bytes) {
    if (neverText(mimeType)) {
      return Content.contents(uri, mimeType, bytes);
    }
    try {
      return Content.contents(uri, mimeType, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException e) {
      return Content.contents(uri, mimeType, bytes);
    }
  }

  /** Returns whether contents of a MIME type are never text. */
  private static boolean neverText(String mimeType) {
    boolean text = mimeType.endsWith("+xml") || mimeType.endsWith("+json");
    return !text && (Set.of("image", "audio", "video", "font").contains(mimeType.split("/", 2)[0]) || BINARY.contains(mimeType));
  }
}
