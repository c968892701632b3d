//go:build !unix

package app

// fileLimit returns how many files the process may have open; 0 means unknown.
func fileLimit() int { return 0 }
