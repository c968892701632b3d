// Package config alone reads files, flags and environment. It merges, in ascending precedence, the
// defaults, the YAML file (strict: an unknown key is an error with its line), the environment
// (MCPEDGE_ and the flag's name in capitals) and the flags.
package config
