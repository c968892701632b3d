package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestCallIsLost: the error of a call with a lost response says that it may have taken effect, and
// whether a repetition is safe.
func TestCallIsLost(t *testing.T) {
	ends := map[string]func(w http.ResponseWriter, r *http.Request, id string){
		"the stream ends": func(w http.ResponseWriter, _ *http.Request, _ string) { events(w, ": nothing\n\n") },
		"no response": func(w http.ResponseWriter, _ *http.Request, _ string) {
			panic(http.ErrAbortHandler)
		},
		"a proxy's": func(w http.ResponseWriter, _ *http.Request, _ string) {
			http.Error(w, "bad gateway", http.StatusBadGateway)
		},
	}
	for how, call := range ends {
		for annotations, want := range map[string]string{
			`{"readOnlyHint":true}`:   "it is safe to send it again: work is read-only",
			`{"idempotentHint":true}`: "it is safe to send it again with the same arguments: work is idempotent",
			`{}`:                      "it is not known to be safe to send it again: work is marked neither read-only nor idempotent",
			"":                        "it is not known to be safe to send it again: the annotations of work cannot be read",
		} {
			t.Run(how+annotations, func(t *testing.T) {
				f := &fake{annotations: annotations, call: call}
				err := Call(t.Context(), []string{"--protocol-version", "2025-11-25", f.serve(t), "work"}, "test", io.Discard, io.Discard)
				if err == nil || !strings.Contains(err.Error(), "may have taken effect") || !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			})
		}
	}
}

// TestCallIsAnswered: if the server responded, or was not reached, the error does not mention an
// effect.
func TestCallIsAnswered(t *testing.T) {
	for how, call := range map[string]func(w http.ResponseWriter, r *http.Request, id string){
		"an error": func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"broken"}}`, id)
		},
		"busy":      func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusServiceUnavailable) },
		"forbidden": func(w http.ResponseWriter, _ *http.Request, _ string) { w.WriteHeader(http.StatusForbidden) },
	} {
		err := Call(t.Context(), []string{"--protocol-version", "2025-11-25", (&fake{call: call}).serve(t), "work"}, "test", io.Discard, io.Discard)
		if err == nil || strings.Contains(err.Error(), "effect") {
			t.Errorf("%s: %v", how, err)
		}
	}
}
