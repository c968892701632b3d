package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// replicaPlaceholder is replaced by the replica's name in Audit.File.
const replicaPlaceholder = "{replica}"

// placeholder matches a placeholder in Audit.File, or an unpaired brace.
var placeholder = regexp.MustCompile(`\{[^{}]*\}?|\}`)

// ReplicaName returns the name of this replica: Replica, or else the host's name. It is empty if
// the host has none.
func (c *Config) ReplicaName() string {
	if c.Server.Replica != "" {
		return c.Server.Replica
	}
	host, _ := os.Hostname()
	return host
}

// AuditFile returns the path of the audit file: Audit.File with the replica's name for {replica}.
// It returns AuditStdout for standard output, and empty without a file. The settings must be valid.
func (c *Config) AuditFile() string {
	if c.Audit == nil {
		return ""
	}
	return strings.ReplaceAll(c.Audit.File, replicaPlaceholder, c.ReplicaName())
}

// validateAuditFile returns an error if AuditFile would not return a valid path.
func (c *Config) validateAuditFile() error {
	if c.Audit == nil {
		return nil
	}
	used := false
	for _, p := range placeholder.FindAllString(c.Audit.File, -1) {
		if p != replicaPlaceholder {
			return fmt.Errorf("audit.file: %s is unknown: %s alone is replaced, by the name of the replica", p, replicaPlaceholder)
		}
		used = true
	}
	if name := c.ReplicaName(); used && (!filepath.IsLocal(name) || filepath.Base(name) != name) {
		return fmt.Errorf("audit.file: the name of the replica, %q, cannot be part of the name of a file: give replica another", name)
	}
	return nil
}
