import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Content;
import io.mcpedge.capability.Description;
import io.mcpedge.capability.Header;
import io.mcpedge.capability.Result;
import io.mcpedge.capability.Tool;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.DeflaterOutputStream;

/** Content of every kind, and schemas. */
final class ContentFixtures {
  static final byte[] RED_PIXEL = png();
  private static final byte[] SILENCE = wav();

  /** Uses the keywords that must survive on their way to the client, in the suite's order. */
  private static final String DIALECT = """
      {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",\
      "$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},\
      "properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},\
      "contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},\
      "allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],\
      "if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},\
      "then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}""";

  record Region(@Description("Goes into the header Mcp-Param-Region too") @Header("Region") String region) {}

  private ContentFixtures() {}

  static void add(Capability s) {
    fixture(s, "test_simple_text", "Returns a text", Content.text("This is a simple text response for testing."));
    fixture(s, "test_image_content", "Returns an image", Content.image(RED_PIXEL, "image/png"));
    fixture(s, "test_audio_content", "Returns a sound", Content.audio(SILENCE, "audio/wav"));
    fixture(s, "test_embedded_resource", "Returns an embedded resource",
        Content.embed(Content.contents("test://embedded-resource", "text/plain", "This is an embedded resource content.")));
    fixture(s, "test_multiple_content_types", "Returns a text, an image and an embedded resource",
        Content.text("Multiple content types test:"),
        Content.image(RED_PIXEL, "image/png"),
        Content.embed(Content.contents("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}")));
    Everything.plain(s, "test_error_handling", "Fails, always", call -> Result.error("This tool intentionally returns an error for testing"));

    Tool dialect = new Tool("json_schema_2020_12_tool", "Has an input schema with keywords of JSON Schema 2020-12", DIALECT);
    s.rawTool(dialect, (call, arguments) -> Result.of(Content.text("Called with " + arguments)), Everything.options());
    Everything.plain(s, "test_x_mcp_header", "Has an argument that travels in a header as well", Region.class, (call, in) -> "region=" + in.region());
  }

  private static void fixture(Capability s, String name, String description, Content... content) {
    Everything.plain(s, name, description, call -> List.of(content));
  }

  /** Returns an image of one red pixel. */
  private static byte[] png() {
    ByteArrayOutputStream pixels = new ByteArrayOutputStream();
    try (DeflaterOutputStream deflate = new DeflaterOutputStream(pixels)) {
      deflate.write(new byte[] {0, (byte) 255, 0, 0});
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(new byte[] {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'});
    out.writeBytes(chunk("IHDR", ByteBuffer.allocate(13).putInt(1).putInt(1).put((byte) 8).put((byte) 2).array()));
    out.writeBytes(chunk("IDAT", pixels.toByteArray()));
    out.writeBytes(chunk("IEND", new byte[0]));
    return out.toByteArray();
  }

  private static byte[] chunk(String kind, byte[] data) {
    byte[] name = kind.getBytes(StandardCharsets.US_ASCII);
    CRC32 sum = new CRC32();
    sum.update(name);
    sum.update(data);
    return ByteBuffer.allocate(12 + data.length).putInt(data.length).put(name).put(data).putInt((int) sum.getValue()).array();
  }

  /** A hundredth of a second of silence: 8 kHz, mono, 8 bits. */
  private static byte[] wav() {
    byte[] samples = new byte[80];
    Arrays.fill(samples, (byte) 0x80);
    return ByteBuffer.allocate(44 + samples.length).order(ByteOrder.LITTLE_ENDIAN)
        .put("RIFF".getBytes(StandardCharsets.US_ASCII)).putInt(36 + samples.length)
        .put("WAVEfmt ".getBytes(StandardCharsets.US_ASCII)).putInt(16)
        .putShort((short) 1).putShort((short) 1).putInt(8000).putInt(8000).putShort((short) 1).putShort((short) 8)
        .put("data".getBytes(StandardCharsets.US_ASCII)).putInt(samples.length).put(samples).array();
  }
}
