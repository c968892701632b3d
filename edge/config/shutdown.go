package config

import "time"

// Shutdown configures what happens after SIGTERM.
type Shutdown struct {
	// Delay is the time for which the edge continues to serve while it reports unready.
	Delay time.Duration `yaml:"delay" usage:"time to keep serving after SIGTERM, while unready; 0: none"`
	// Grace is the time for which it then waits for running calls.
	Grace time.Duration `yaml:"grace" usage:"time to then wait for running calls; 0: none"`
}

func defaultShutdown() Shutdown { return Shutdown{Grace: 30 * time.Second} }
