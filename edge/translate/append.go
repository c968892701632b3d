package translate

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

// The helpers here write members as `,"key":value`. For an object whose first member is optional,
// the caller keeps the position of its start, and closeObject replaces the first comma by the
// brace.

// closeObject ends the object whose members were appended from start on.
func closeObject(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '{', '}')
	}
	dst[start] = '{'
	return append(dst, '}')
}

// closeArray is closeObject for elements that were each appended after a comma.
func closeArray(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, '[', ']')
	}
	dst[start] = '['
	return append(dst, ']')
}

// appendText appends a member with the text s. key opens it (`,"name":`). It appends nothing if s
// is empty.
func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return jsonrpc.AppendString(append(dst, key...), s)
}

// appendStrings appends an array of strings under key. It appends nothing if the array is empty.
func appendStrings(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(dst, key...)
	start := len(dst)
	for _, s := range list {
		dst = jsonrpc.AppendString(append(dst, ','), s)
	}
	return closeArray(dst, start)
}

// appendHint appends a boolean under key. It appends nothing for nil.
func appendHint(dst []byte, key string, v *bool) []byte {
	if v == nil {
		return dst
	}
	return strconv.AppendBool(append(dst, key...), *v)
}

// appendBase64 appends data as a JSON string.
func appendBase64(dst, data []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, '"')
}

// appendFloat appends a number as the shortest text that keeps its value. It fails for infinities,
// which JSON lacks.
func appendFloat(dst []byte, field string, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, contractError(field, "%v is not a number that JSON can hold; send a finite number", f)
	}
	if i := int64(f); float64(i) == f && -1e15 < f && f < 1e15 {
		return strconv.AppendInt(dst, i, 10), nil
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}

// appendFraction appends a number from 0 to 1 under key. It appends nothing for nil.
func appendFraction(dst []byte, key, field string, f *float64) ([]byte, error) {
	if f == nil {
		return dst, nil
	}
	if !(*f >= 0 && *f <= 1) {
		return dst, contractError(field, "%v is out of range; send a number from 0 to 1", *f)
	}
	return appendFloat(append(dst, key...), field, *f)
}

// appendJSON appends a backend's open JSON, which must not be empty. The JSON is validated and
// written in one line, with U+FFFD in place of half a surrogate pair, otherwise unchanged.
func appendJSON(dst []byte, field, raw string) ([]byte, error) {
	start := len(dst)
	dst = append(dst, raw...)
	value := dst[start:]
	if !jsonrpc.Valid(value) {
		return dst, contractError(field, "no valid JSON, or nested deeper than %d levels; send one JSON value in UTF-8", jsonrpc.MaxDepth)
	}
	jsonrpc.ReplaceLoneSurrogates(value)
	if jsonrpc.HasRawNewline(value) {
		// This works in place: Compact never writes beyond what it has read.
		dst = jsonrpc.Compact(dst[:start], value)
	}
	return dst, nil
}

// appendJSONObject is appendJSON for a field that must be an object.
func appendJSONObject(dst []byte, field, raw string) ([]byte, error) {
	start := len(dst)
	dst, err := appendJSON(dst, field, raw)
	if err == nil && jsonrpc.TypeOf(dst[start:]) != jsonrpc.Object {
		err = contractError(field, "of type %s where an object is expected; send a JSON object", jsonrpc.TypeOf(dst[start:]))
	}
	return dst, err
}
