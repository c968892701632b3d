package capability

import "strings"

// binaryType reports whether contents of a MIME type are never text, whatever their bytes.
func binaryType(mimeType string) bool {
	if strings.HasSuffix(mimeType, "+xml") || strings.HasSuffix(mimeType, "+json") {
		return false
	}
	kind, _, _ := strings.Cut(mimeType, "/")
	switch kind {
	case "image", "audio", "video", "font":
		return true
	}
	switch mimeType {
	case "application/octet-stream", "application/pdf", "application/zip", "application/gzip", "application/wasm":
		return true
	}
	return false
}
