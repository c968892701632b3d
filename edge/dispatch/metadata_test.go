package dispatch

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A call forwards the configured headers: each line that metadata can represent, up to a bound on
// all of them.
func TestForwardedHeaders(t *testing.T) {
	names := []string{"X-Request-Id", "X-Other", "X-Last"}
	long := strings.Repeat("x", 4<<10)
	for what, x := range map[string]struct {
		header http.Header
		want   []string
	}{
		"none":              {nil, nil},
		"others":            {http.Header{"Authorization": {"Bearer t"}, "X-Tenant": {"other"}, "X-Request-Id-Bin": {"a"}}, nil},
		"lines":             {http.Header{"X-Request-Id": {"a", "b"}, "X-Last": {"c"}}, []string{"x-request-id", "a", "x-request-id", "b", "x-last", "c"}},
		"what is no value":  {http.Header{"X-Request-Id": {"", "a\r\nx-admin: yes", "\x00", "a\tb", "ü", " a ", "b"}}, []string{"x-request-id", "b"}},
		"one above 4 KiB":   {http.Header{"X-Request-Id": {long + "x"}, "X-Last": {"c"}}, []string{"x-last", "c"}},
		"above all of them": {http.Header{"X-Request-Id": {long}, "X-Other": {long}, "X-Last": {"c"}}, []string{"x-request-id", long}},
		"not canonical":     {http.Header{"x-request-id": {"a"}}, nil}, // which net/http does not make
	} {
		if got := appendHeaders(nil, names, x.header); !slices.Equal(got, x.want) {
			t.Errorf("%s: %.100q, want %.100q", what, got, x.want)
		}
	}
}
