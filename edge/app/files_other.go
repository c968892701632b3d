//go:build !unix

package app

// fileLimit returns the maximum number of open files of the process. 0 means unknown.
func fileLimit() int { return 0 }
