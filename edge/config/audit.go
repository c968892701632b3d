package config

import (
	"fmt"
	"time"
)

// Audit configures where decisions and outcomes are recorded, and what happens if recording fails.
type Audit struct {
	// File receives records as lines of JSON. {replica} is replaced by the replica's name,
	// AuditStdout means standard output, empty disables the file.
	File string `yaml:"file" names:"output" also:"path"`
	// OTLP exports records as OpenTelemetry logs, to the endpoint in OTEL_EXPORTER_OTLP_….
	OTLP bool `yaml:"otlp"`
	// Arguments selects how the arguments of calls are recorded: AuditNone, AuditDigest or
	// AuditWhole. Empty means AuditNone.
	Arguments string `yaml:"arguments"`
	// DigestKeyFile has the key of AuditDigest, at least 32 bytes.
	DigestKeyFile string `yaml:"digest-key-file" names:"file"`
	// Required refuses a call that cannot be recorded. Without it the record is dropped and
	// counted.
	Required bool `yaml:"required"`
	// Timeout bounds the write of a record if Required is set; 0 means 5 s.
	Timeout time.Duration `yaml:"timeout"`
}

// AuditStdout as File means standard output.
const AuditStdout = "-"

// How arguments are recorded.
const (
	AuditNone   = "none"
	AuditDigest = "digest"
	AuditWhole  = "whole"
)

func (a *Audit) validate(command string) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("audit."+format, args...)) }
	if a == nil {
		return nil
	}
	switch {
	case a.File == "" && !a.OTLP:
		wrong("file: there is none, and otlp is false: say where records go")
	case a.File == AuditStdout && command == "stdio":
		wrong("file: %q is standard output, which the client reads: name a file", a.File)
	}
	switch a.Arguments {
	case "", AuditNone, AuditWhole:
		if a.DigestKeyFile != "" {
			wrong("digest-key-file: it is for arguments: digest: set that, or take it out")
		}
	case AuditDigest:
		if a.DigestKeyFile == "" {
			wrong("digest-key-file: arguments: digest needs a key: name a file with 32 random bytes, the same on each replica")
		}
	default:
		wrong("arguments: %q: use none, digest or whole", a.Arguments)
	}
	if a.Timeout > 0 && !a.Required {
		wrong("timeout: it is for required: true: set that, or take it out")
	}
	return errs
}
