import { audio, embed, errorResult, image, type Server, text } from "@mcpedge/capability";
import { deflateSync, crc32 } from "./png.js";
import { plain } from "./plain.js";

export const redPixel = makePng();
const silence = makeWav();

/** Returns an image of one red pixel. */
function makePng(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]); // 1 by 1, 8 bits, RGB
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.from([0, 255, 0, 0]))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A hundredth of a second of silence: 8 kHz, mono, 8 bits. */
function makeWav(): Buffer {
  const rate = 8000;
  const samples = 80;
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // channels
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate, 28); // bytes per second
  header.writeUInt16LE(1, 32); // bytes per sample
  header.writeUInt16LE(8, 34); // bits per sample
  header.write("data", 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 128)]);
}

export function addContent(server: Server): void {
  const says = "This is a simple text response for testing.";
  server.registerTool("test_simple_text", plain("Returns a text"), () => says);
  server.registerTool("test_image_content", plain("Returns an image"), () => image(redPixel, "image/png"));
  server.registerTool("test_audio_content", plain("Returns a sound"), () => audio(silence, "audio/wav"));
  server.registerTool("test_embedded_resource", plain("Returns an embedded resource"), () =>
    embed({ uri: "test://embedded-resource", mimeType: "text/plain", text: "This is an embedded resource content." }),
  );
  server.registerTool("test_multiple_content_types", plain("Returns a text, an image and an embedded resource"), () => [
    text("Multiple content types test:"),
    image(redPixel, "image/png"),
    embed({
      uri: "test://mixed-content-resource",
      mimeType: "application/json",
      text: '{"test":"data","value":123}',
    }),
  ]);
  server.registerTool("test_error_handling", plain("Fails, always"), () =>
    errorResult("This tool intentionally returns an error for testing"),
  );
}
