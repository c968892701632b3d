// Package process starts and ends the programs that tests drive from outside: each with its output in a
// file, on free loopback ports, and on Linux bound to the test's own life.
package process
