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

// DecodeHeader reads the value of an Mcp-Name or Mcp-Param header: spaces around it are no part of it,
// and a value in `=?base64?…?=` is strict base64 of UTF-8. A value with only one end of the sentinel
// is literal. False: the base64 is malformed.
func DecodeHeader(value string) (string, bool) {
	value = strings.Trim(value, " \t")
	inner, ok := strings.CutPrefix(value, sentinelPrefix)
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, sentinelSuffix); !ok {
		return value, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(text) || strings.ContainsAny(inner, "\r\n") {
		return "", false
	}
	return string(text), true
}

// EncodeHeader writes a value so that it survives a header or gRPC metadata: as it is when it is
// printable ASCII without outer spaces and cannot be taken for the sentinel, else in base64.
func EncodeHeader(value string) string {
	plain := strings.Trim(value, " \t") == value && !strings.HasPrefix(value, sentinelPrefix)
	for i := 0; plain && i < len(value); i++ {
		plain = value[i] >= 0x20 && value[i] <= 0x7e
	}
	if plain {
		return value
	}
	return sentinelPrefix + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelSuffix
}
