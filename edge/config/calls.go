package config

import (
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Calls configures calls.
type Calls struct {
	StreamAfter time.Duration `yaml:"stream-after" usage:"a call that runs longer gets a stream, in every revision"`
	Rounds      int           `yaml:"rounds" usage:"most rounds of questions of one call"`
	Lifetime    time.Duration `yaml:"lifetime" usage:"longest life of a call, including the wait for its user"`
}

func defaultCalls() Calls {
	return Calls{StreamAfter: time.Second, Rounds: mcp.DefaultRounds, Lifetime: mcp.DefaultCallLifetime}
}
