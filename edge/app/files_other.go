//go:build !unix

package app

// fileLimit is how many files the process may have open; 0: not known.
func fileLimit() int { return 0 }
