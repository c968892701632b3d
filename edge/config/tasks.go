package config

import (
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Tasks configures tasks.
type Tasks struct {
	After    time.Duration `yaml:"after" usage:"a call that may become a task does so after this time"`
	TTL      time.Duration `yaml:"ttl" usage:"how long a task can be read after its end; at most 168h"`
	Lifetime time.Duration `yaml:"lifetime" usage:"longest life of a task's work, including the wait for its user"`
	// Running bounds the tasks that run on one replica.
	Running int `yaml:"running" usage:"most tasks that run on one replica; more wait for their turn"`
}

func defaultTasks() Tasks {
	return Tasks{After: 2 * time.Second, TTL: time.Hour, Lifetime: mcp.DefaultTaskLifetime, Running: 1024}
}

// maxTaskTTL bounds the time for which finished tasks are kept.
const maxTaskTTL = 7 * 24 * time.Hour

func (t *Tasks) validate() []error {
	if t.TTL > maxTaskTTL {
		return []error{fmt.Errorf("tasks.ttl: %s: give %s or less", t.TTL, maxTaskTTL)}
	}
	return nil
}
