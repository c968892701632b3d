package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// addMetadata adds the configured metadata to a backend's settings. An error, which begins with the
// key below the backend, means that a file cannot be read.
func addMetadata(c *backend.Config, b *config.Backend, log *slog.Logger) error {
	fixed := &fixedMetadata{values: map[string]*fixedValue{}}
	for _, key := range slices.Sorted(maps.Keys(b.Metadata)) {
		switch v := b.Metadata[key]; {
		case v.From != "":
			from, err := policy.CompileValue(v.From)
			if err != nil {
				return fmt.Errorf("metadata.%s: from: %w", key, err)
			}
			c.Caller = append(c.Caller, backend.CallerMetadata{Key: key, Value: from})
		default:
			one := &fixedValue{text: v.Value, file: v.File, log: log.With("backend", b.Name, "key", key)}
			if _, err := one.read(); err != nil {
				return fmt.Errorf("metadata.%s: file: %w", key, err)
			}
			fixed.values[key] = one
		}
	}
	if len(fixed.values) > 0 {
		c.Fixed = fixed
	}
	for _, name := range b.ForwardHeaders {
		c.Headers = append(c.Headers, http.CanonicalHeaderKey(name))
	}
	return nil
}

// fixedMetadata is the metadata of every RPC to a backend. It is safe for concurrent use.
type fixedMetadata struct{ values map[string]*fixedValue }

var _ credentials.PerRPCCredentials = (*fixedMetadata)(nil)

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (f *fixedMetadata) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	out := make(map[string]string, len(f.values))
	for key, v := range f.values {
		out[key] = v.now()
	}
	return out, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. config.Exposed reports
// metadata that is sent without TLS.
func (f *fixedMetadata) RequireTransportSecurity() bool { return false }

// fileCheckInterval is the interval at which the file of a value is checked.
const fileCheckInterval = time.Second

// fixedValue is a value from the settings, or from a file that is reread when it changes. It is
// safe for concurrent use.
type fixedValue struct {
	file string
	log  *slog.Logger

	mu     sync.Mutex
	text   string
	looked time.Time
	// modified and size are those of the file that was read.
	modified time.Time
	size     int64
	// failed is why the last check could not use the file, logged the failure that was logged last.
	// Empty means none.
	failed, logged string
}

// now returns the value; the last one if its file cannot be read any more.
func (v *fixedValue) now() string {
	if v.file == "" {
		return v.text
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.looked) < fileCheckInterval {
		return v.text
	}
	changed, err := v.read()
	switch {
	case err != nil:
		v.refused(err)
	case changed:
		v.log.Info("metadata for a backend was read again", "file", v.file)
	case v.logged != "":
		v.log.Info("a file with metadata for a backend can be used again", "file", v.file)
	}
	if err == nil {
		v.failed, v.logged = "", ""
	}
	return v.text
}

// refused logs the reason for which the file cannot be used. It logs the first failure, and each
// different one that two consecutive checks find, because the file may be in the process of being
// written. The caller holds v.mu.
func (v *fixedValue) refused(err error) {
	why := err.Error()
	settled := why == v.failed
	v.failed = why
	if why == v.logged || v.logged != "" && !settled {
		return
	}
	v.logged = why
	v.log.Warn("a file with metadata for a backend cannot be used: the previous value stays in use", "file", v.file, "error", err)
}

// read reads the value from its file if that has changed.
func (v *fixedValue) read() (changed bool, err error) {
	if v.file == "" {
		return false, nil
	}
	v.looked = time.Now()
	info, err := os.Stat(v.file)
	if err != nil || info.ModTime().Equal(v.modified) && info.Size() == v.size {
		return false, err
	}
	raw, err := os.ReadFile(v.file)
	if err != nil {
		return false, err
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return false, fmt.Errorf("%s is empty", v.file)
	}
	if why := mcp.NotMetadataValue(text); why != "" {
		return false, fmt.Errorf("%s: its text %s", v.file, why)
	}
	v.text, v.modified, v.size = text, info.ModTime(), info.Size()
	return true, nil
}
