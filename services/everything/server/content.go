package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"

	"github.com/mcpedge/mcpedge/capability"
)

var (
	redPixel = makePNG()
	silence  = makeWAV()
)

// makePNG returns an image of one red pixel.
func makePNG() []byte {
	picture := image.NewRGBA(image.Rect(0, 0, 1, 1))
	picture.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	return b.Bytes()
}

// makeWAV returns 10 ms of silence: 8 kHz, mono, 8 bits.
func makeWAV() []byte {
	const rate, samples = 8000, 80
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, 36+samples)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1) // PCM
	b = binary.LittleEndian.AppendUint16(b, 1) // channels
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate) // bytes per second
	b = binary.LittleEndian.AppendUint16(b, 1)    // bytes per sample
	b = binary.LittleEndian.AppendUint16(b, 8)    // bits per sample
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, samples)
	return append(b, bytes.Repeat([]byte{128}, samples)...)
}

func addContent(s *capability.Server) {
	fixture := func(name, description string, content ...*capability.Content) {
		capability.AddTool(s, name, description,
			func(context.Context, *capability.Call, none) ([]*capability.Content, error) { return content, nil }, plain()...)
	}
	fixture("test_simple_text", "Returns a text",
		capability.Text("This is a simple text response for testing."))
	fixture("test_image_content", "Returns an image",
		capability.Image(redPixel, "image/png"))
	fixture("test_audio_content", "Returns a sound",
		capability.Audio(silence, "audio/wav"))
	fixture("test_embedded_resource", "Returns an embedded resource",
		capability.Embed(capability.TextContents("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	fixture("test_multiple_content_types", "Returns a text, an image and an embedded resource",
		capability.Text("Multiple content types test:"),
		capability.Image(redPixel, "image/png"),
		capability.Embed(capability.TextContents("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	capability.AddTool(s, "test_error_handling", "Fails, always",
		func(context.Context, *capability.Call, none) (*capability.Result, error) {
			return capability.ErrorResult("This tool intentionally returns an error for testing"), nil
		}, plain()...)
}
