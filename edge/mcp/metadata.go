package mcp

import "strings"

// maxMetadataValue bounds a value of gRPC metadata, in bytes.
const maxMetadataValue = 4 << 10

// NotMetadataValue returns why a text cannot be a value of gRPC metadata; empty if it can.
func NotMetadataValue(text string) string {
	switch {
	case len(text) > maxMetadataValue:
		return "is above 4 KiB"
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }):
		return "has characters other than those of ASCII that can be printed"
	case strings.TrimSpace(text) != text:
		return "has spaces around it"
	}
	return ""
}
