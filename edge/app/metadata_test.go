package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
)

// A value in a file follows the file. An unusable one keeps the last value and is logged once; at
// start it is an error.
func TestFixedMetadata(t *testing.T) {
	var log bytes.Buffer
	file := filepath.Join(t.TempDir(), "key")
	settings := &config.Backend{Name: "b", Metadata: map[string]config.MetadataValue{
		"x-key": {File: file}, "x-env": {Value: "v"}, "x-user": {From: "principal.subject"},
	}}
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	made := func() (*backend.Config, error) {
		c := &backend.Config{}
		return c, addMetadata(c, settings, slog.New(slog.NewTextHandler(&log, nil)))
	}
	start := time.Now().Add(-time.Hour)
	for text, want := range map[string]string{"": "is empty", "\n": "is empty", "ü": "ASCII", strings.Repeat("x", 5000): "4 KiB"} {
		write(text, start)
		if _, err := made(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "metadata.x-key: file: ") {
			t.Errorf("with %.10q: %v, want %q", text, err, want)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := made(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without the file: %v", err)
	}
	write(" first\n", start)
	c, err := made()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Caller) != 1 || c.Caller[0].Key != "x-user" || c.Caller[0].Value.String() != "principal.subject" {
		t.Errorf("of the caller: %v", c.Caller)
	}
	fixed := c.Fixed.(*fixedMetadata)
	sends := func(want string) {
		t.Helper()
		fixed.values["x-key"].looked = time.Time{} // a second is over
		got, err := fixed.GetRequestMetadata(t.Context())
		if err != nil || got["x-key"] != want || got["x-env"] != "v" || len(got) != 2 {
			t.Errorf("it sends %v, %v, want %s", got, err, want)
		}
	}
	sends("first")
	write("second", start.Add(time.Minute))
	sends("second")
	write("\n", start.Add(2*time.Minute))
	sends("second")
	sends("second")
	if n := strings.Count(log.String(), "cannot be used"); n != 1 || strings.Contains(log.String(), "second") {
		t.Errorf("it was logged %d times: %s", n, &log)
	}
	write("ü", start.Add(3*time.Minute))
	for range 4 {
		sends("second")
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 2 || strings.Count(log.String(), "ASCII") != 1 {
		t.Errorf("with another mistake it was logged %d times: %s", n, &log)
	}
	write("second", start.Add(time.Minute))
	sends("second")
	sends("second")
	if strings.Count(log.String(), "can be used again") != 1 {
		t.Errorf("its end is not logged once: %s", &log)
	}
	write("third", start.Add(3*time.Minute))
	sends("third")
}
