package config

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An invalid audit is reported with its value and what to write.
func TestAuditIsValidated(t *testing.T) {
	for want, a := range map[string]Audit{
		"audit.file: there is none, and otlp is false":         {},
		`audit.arguments: "all": use none, digest or whole`:    {File: "a", Arguments: "all"},
		"audit.digest-key-file: arguments: digest needs a key": {File: "a", Arguments: AuditDigest},
		"audit.digest-key-file: it is for arguments: digest":   {File: "a", DigestKeyFile: "k"},
		"audit.timeout: it is for required: true":              {File: "a", Timeout: time.Second},
		"": {OTLP: true, Required: true, Timeout: time.Second, Arguments: AuditDigest, DigestKeyFile: "k"},
	} {
		c := Default()
		c.Audit = &a
		if err := c.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", a, err, want)
		}
	}
}

// Standard output is the client's over stdio.
func TestAuditOverStdio(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("audit: {file: \"-\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load("stdio", []string{"--config", path}, env(nil), io.Discard); err == nil || !strings.Contains(err.Error(), `audit.file: "-" is standard output`) {
		t.Errorf("%v", err)
	}
	if c, err := Load(serve, []string{"--config", path}, env(nil), io.Discard); err != nil || c.Audit.File != AuditStdout {
		t.Errorf("%v", err)
	}
}
