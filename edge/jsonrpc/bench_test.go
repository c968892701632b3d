package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
)

const smallCall = `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, world","count":3},"_meta":{"progressToken":7}}}`

func largeCall() []byte {
	return []byte(`{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` +
		strings.Repeat("The quick brown fox, ", 5000) + `"}}}`)
}

func BenchmarkParse(b *testing.B) {
	for name, in := range map[string][]byte{"small": []byte(smallCall), "large": largeCall()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStdlibValid is the reference for BenchmarkParse.
func BenchmarkStdlibValid(b *testing.B) {
	in := []byte(smallCall)
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		json.Valid(in)
	}
}

func BenchmarkMember(b *testing.B) {
	m, err := Parse([]byte(smallCall))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Member(m.Params, "_meta"); !ok {
			b.Fatal("no _meta")
		}
	}
}

func BenchmarkAppendResult(b *testing.B) {
	result, id, dst := []byte(`{"content":[{"type":"text","text":"hello"}]}`), IntID(42), []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = AppendResult(dst[:0], id, result)
	}
}

func BenchmarkAppendString(b *testing.B) {
	s, dst := strings.Repeat("The quick brown fox, ", 5000), []byte(nil)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		dst = AppendString(dst[:0], s)
	}
}

// TestParseAllocates checks that the hot path allocates once: for the id.
func TestParseAllocates(t *testing.T) {
	in := []byte(smallCall)
	var o Outline
	if n := testing.AllocsPerRun(100, func() { _, _ = ParseOutlined(in, &o) }); n > 1 {
		t.Errorf("Parse makes %v allocations, want at most 1", n)
	}
}
