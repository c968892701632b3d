use crate::plain;
use mcpedge_capability::{CallToolResult, Content, Server, audio, embed, image, text, text_contents};

pub fn add(server: Server) -> Server {
    let embedded = text_contents("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    let mixed = text_contents("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#);
    let mixed = vec![text("Multiple content types test:"), image(red_pixel(), "image/png"), embed(mixed)];
    let error = || async { CallToolResult::error("This tool intentionally returns an error for testing") };
    let simple = vec![text("This is a simple text response for testing.")];
    let server = fixture(server, "test_simple_text", "Returns a text", simple);
    let server = fixture(server, "test_image_content", "Returns an image", vec![image(red_pixel(), "image/png")]);
    let server = fixture(server, "test_audio_content", "Returns a sound", vec![audio(silence(), "audio/wav")]);
    let server = fixture(server, "test_embedded_resource", "Returns an embedded resource", vec![embed(embedded)]);
    let server = fixture(server, "test_multiple_content_types", "Returns a text, an image and an embedded resource", mixed);
    server.with(plain("test_error_handling", "Fails, always", error))
}

fn fixture(server: Server, name: &str, description: &str, content: Vec<Content>) -> Server {
    let handler = move || {
        let content = content.clone();
        async { content }
    };
    server.with(plain(name, description, handler))
}

/// Returns an image of one red pixel.
pub fn red_pixel() -> Vec<u8> {
    let head: [&[u8]; 3] = [&1_u32.to_be_bytes(), &1_u32.to_be_bytes(), &[8, 2, 0, 0, 0]];
    let pixels = [0, 255, 0, 0];
    // A stream of zlib (RFC 1950) with one block that is not compressed.
    let stored: [&[u8]; 3] = [&[0x78, 0x01, 0x01, 4, 0, !4, !0], &pixels, &adler32(&pixels).to_be_bytes()];
    let chunks = [chunk(b"IHDR", &head.concat()), chunk(b"IDAT", &stored.concat()), chunk(b"IEND", b"")];
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunks.concat()].concat()
}

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let body = [kind, data].concat();
    [&(data.len() as u32).to_be_bytes()[..], &body, &crc32(&body).to_be_bytes()].concat()
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }))
}

fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| ((a + u32::from(*byte)) % 65521, (a + u32::from(*byte) + b) % 65521));
    b << 16 | a
}

/// A hundredth of a second of silence: 8 kHz, mono, 8 bits.
fn silence() -> Vec<u8> {
    let samples = [0x80; 80];
    let mut out = b"RIFF".to_vec();
    out.extend(36_u32.wrapping_add(80).to_le_bytes());
    out.extend(b"WAVEfmt ");
    for number in [16_u32, 1 << 16 | 1, 8000, 8000, 8 << 16 | 1] {
        out.extend(number.to_le_bytes());
    }
    out.extend(b"data");
    out.extend(80_u32.to_le_bytes());
    out.extend(samples);
    out
}
