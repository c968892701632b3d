// Package config alone reads files, flags and environment. It merges, in ascending precedence, the
// defaults, the YAML file (strict: an unknown key is an error with its line), the environment
// (MCPEDGE_ and the path of the key in capitals) and the flags, each the twin of one key.
//
// A section of the file is a struct in a file of its name, with its defaults and its validation. The tag
// usage of a field describes its key in the help, in docs/configuration.md and in the schema of the chart.
package config
