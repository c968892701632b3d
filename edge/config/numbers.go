package config

import (
	"flag"
	"fmt"
	"slices"
)

// mayBeZero are the keys whose documentation defines the meaning of 0. A 0 for another key would be
// taken for its default.
var mayBeZero = []string{
	"server.memory", "shutdown.delay", "shutdown.grace", "listen.connections", "listen.connection-age", "clients.connections",
	"advanced.sessions-per-address", "redis.acknowledge", "auth.issuers.skew",
}

// outOfRange returns what to write instead of an invalid number, size or duration, or an empty
// string if the value is valid. path is the key without indexes. No value may be negative. The
// key's own validation checks other bounds.
func outOfRange(path string, value int64) string {
	switch zero := slices.Contains(mayBeZero, path); {
	case value < 0 && zero:
		return "give 0 or more"
	case value < 0, value == 0 && !zero:
		return "give a value above 0, or leave it out for its default"
	}
	return ""
}

// checkNumber returns an error if the value of a key is a number out of range. name is the flag or
// the variable that has set it.
func checkNumber(f *flag.Flag, key, name string) error {
	value, isNumber := numberOf(f)
	if !isNumber {
		return nil
	}
	if advice := outOfRange(key, value); advice != "" {
		return fmt.Errorf("%s: %s: %s", name, f.Value, advice)
	}
	return nil
}

// numberOf returns the value of a flag that is a number, a size or a duration.
func numberOf(f *flag.Flag) (value int64, isNumber bool) {
	switch v := f.Value.(type) {
	case duration:
		return int64(*v.value), true
	case *Bytes:
		return int64(*v), true
	case flag.Getter:
		n, isInt := v.Get().(int)
		return int64(n), isInt
	}
	return 0, false
}
