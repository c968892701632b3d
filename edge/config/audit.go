package config

import (
	"fmt"
	"time"
)

// Audit says where decisions and outcomes are recorded, and what happens when they cannot be.
type Audit struct {
	// File gets lines of JSON; AuditStdout: standard output does. {replica} in it is replaced by the replica's name. Empty: there is none.
	File string `yaml:"file" names:"output" also:"path"`
	// OTLP sends OpenTelemetry logs to where the environment says, OTEL_EXPORTER_OTLP_….
	OTLP bool `yaml:"otlp"`
	// Arguments says what is recorded of the arguments of calls: AuditNone, also when empty, AuditDigest or AuditWhole.
	Arguments string `yaml:"arguments"`
	// DigestKeyFile has the key of AuditDigest, of 32 bytes at least.
	DigestKeyFile string `yaml:"digest-key-file" names:"file"`
	// Required refuses what cannot be recorded; else what cannot be recorded is lost and counted.
	Required bool `yaml:"required"`
	// Timeout is how long what is Required may take to be written; 0: 5 s.
	Timeout time.Duration `yaml:"timeout"`
	// Queue bounds what waits to be written; 0: 16 MiB.
	Queue Bytes `yaml:"queue"`
}

// AuditStdout is the File that is standard output.
const AuditStdout = "-"

// What is recorded of arguments.
const (
	AuditNone   = "none"
	AuditDigest = "digest"
	AuditWhole  = "whole"
)

// leastQueue leaves room for a hundred records.
const leastQueue = 64 << 10

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
	if a.Timeout < 0 {
		wrong("timeout: %s: give a duration above 0", a.Timeout)
	}
	if a.Timeout > 0 && !a.Required {
		wrong("timeout: it is for required: true: set that, or take it out")
	}
	if a.Queue != 0 && a.Queue < leastQueue {
		wrong("queue: %s: give %s or more", a.Queue, Bytes(leastQueue))
	}
	return errs
}
