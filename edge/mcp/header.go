package mcp

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

const (
	sentinelPrefix = "=?base64?"
	sentinelSuffix = "?="
)

// DecodeHeader decodes the value of an Mcp-Name or Mcp-Param header. Surrounding spaces are
// ignored, and a value in `=?base64?…?=` is strict base64 of UTF-8. A value with only one end of
// the sentinel is literal. It returns false for malformed base64, or for a literal that is not
// visible ASCII, which proxies change or refuse.
func DecodeHeader(value string) (string, bool) {
	value = strings.Trim(value, " \t")
	inner, encoded := strings.CutPrefix(value, sentinelPrefix)
	if encoded {
		inner, encoded = strings.CutSuffix(inner, sentinelSuffix)
	}
	if !encoded {
		return value, isVisible(value)
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(text) || strings.ContainsAny(inner, "\r\n") {
		return "", false
	}
	return string(text), true
}

// EncodeHeader encodes a value for a header or gRPC metadata: unchanged if it is printable ASCII
// without outer spaces and does not look like the sentinel, else in base64.
func EncodeHeader(value string) string {
	if strings.Trim(value, " \t") == value && !strings.HasPrefix(value, sentinelPrefix) && isVisible(value) {
		return value
	}
	return sentinelPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelSuffix
}

// isVisible reports whether a value has only visible ASCII and spaces.
func isVisible(value string) bool {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return true
}
