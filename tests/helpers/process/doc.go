// Package process starts and stops the programs that tests drive from outside. Their output goes to
// files; on Linux they end with the test.
package process
