package folder

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// byExtension maps common extensions to MIME types, independent of the machine.
var byExtension = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".markdown": "text/markdown",
	".html": "text/html", ".htm": "text/html", ".css": "text/css", ".csv": "text/csv", ".tsv": "text/tab-separated-values",
	".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript", ".go": "text/x-go",
	".py": "text/x-python", ".rs": "text/x-rust", ".java": "text/x-java", ".c": "text/x-c", ".h": "text/x-c",
	".cc": "text/x-c++", ".cpp": "text/x-c++", ".sh": "text/x-shellscript", ".sql": "application/sql",
	".proto": "text/x-protobuf", ".ics": "text/calendar",
	".json": "application/json", ".jsonl": "application/jsonl", ".xml": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml",
	".pdf": "application/pdf", ".zip": "application/zip", ".gz": "application/gzip", ".wasm": "application/wasm",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".svg": "image/svg+xml", ".ico": "image/x-icon",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".mp4": "video/mp4", ".webm": "video/webm",
}

// signatures are the first bytes of binary files whose name has no known extension.
var signatures = []struct{ prefix, mimeType string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF8", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b", "application/gzip"},
	{"\x00asm", "application/wasm"},
	{"OggS", "audio/ogg"},
	{"ID3", "audio/mpeg"},
}

// TypeByName returns the MIME type of a file name's extension, or "".
func TypeByName(name string) string { return byExtension[strings.ToLower(path.Ext(name))] }

// TypeOf returns the MIME type of a file, by its name or else by its contents. It is never empty.
func TypeOf(name string, data []byte) string {
	if t := TypeByName(name); t != "" {
		return t
	}
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.prefix)) {
			return s.mimeType
		}
	}
	if len(data) >= 12 && bytes.HasPrefix(data, []byte("RIFF")) {
		switch string(data[8:12]) {
		case "WAVE":
			return "audio/wav"
		case "WEBP":
			return "image/webp"
		}
	}
	if IsText(data) {
		return "text/plain"
	}
	return "application/octet-stream"
}

// IsText reports whether data is text: valid UTF-8 without NUL.
func IsText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }
