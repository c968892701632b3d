package config

import (
	"fmt"
	"math"
)

// Server describes this edge: its name as clients see it, this replica, and its memory.
type Server struct {
	// Name and Title are the edge's Implementation in MCP.
	Name  string `yaml:"name" usage:"the name that clients see"`
	Title string `yaml:"title" usage:"the title that clients see"`
	// Replica names this replica in logs, in Redis and in place of {replica} in Audit.File; empty
	// uses the host name.
	Replica string `yaml:"replica" usage:"name of this replica in logs, in Redis and, for {replica}, in audit.file; none: the host's"`
	// Memory is the memory limit of the process, in bytes: the limit of Go's runtime, unless
	// GOMEMLIMIT is set. Half of it is for callers. 0 means GOMEMLIMIT, else 0.8 of the container's
	// limit, else half of the machine's memory. Other values must be at least LeastMemory.
	Memory Bytes `yaml:"memory" usage:"memory limit of the process, half of it for callers; 0: GOMEMLIMIT, else 0.8 of the container's limit, else half of the machine's"`
	// SigningKey is a PEM file of private keys, which is watched. The first signs callers'
	// identities for backends with IdentitySigned. Replicas must have the same. Empty disables
	// signing.
	SigningKey string `yaml:"signing-key" names:"file" usage:"PEM file of the private key that signs callers' identities, for backends with identity: signed; the same on all replicas"`
}

func defaultServer() Server { return Server{Name: "mcpedge", Title: "MCP Edge"} }

func (c *Config) validateServer() []error {
	if least := c.LeastMemory(); c.Server.Memory > 0 && c.Server.Memory < least {
		return []error{fmt.Errorf("server.memory: %s is too little to serve with listen.body of %s: give %s or more, a smaller body, or 0 to have it chosen", c.Server.Memory, c.Listen.Body, least)}
	}
	return nil
}

const (
	// leastMemory is the need of an edge with a few backends: itself, and as much again for callers
	// and garbage.
	leastMemory = 64 << 20
	// bodiesInMemory is the least ratio of memory to the largest body. Half of the memory is for
	// callers, and a call with a body of that size needs four times its size: a larger buffer to
	// read it and two copies of its params.
	bodiesInMemory = 8
)

// LeastMemory returns the least Server.Memory that suffices for these settings.
func (c *Config) LeastMemory() Bytes {
	return max(leastMemory, bodiesInMemory*min(c.Listen.Body, math.MaxInt64/bodiesInMemory))
}
