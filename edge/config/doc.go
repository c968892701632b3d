// Package config is the only reader of files, flags and environment. Settings come, the later winning,
// from the defaults, the YAML file (strict: an unknown key is an error with its line), the
// environment (MCPEDGE_ and the flag's name in capitals), and the flags.
package config
