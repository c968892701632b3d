package config

import "time"

// Streams configures the streams of calls and their logs.
type Streams struct {
	TTL         time.Duration `yaml:"ttl" usage:"how long a finished stream can be replayed"`
	ResultBytes Bytes         `yaml:"result-bytes" usage:"largest result in a stream's log"`
}

func defaultStreams() Streams { return Streams{TTL: 5 * time.Minute, ResultBytes: 16 << 20} }
