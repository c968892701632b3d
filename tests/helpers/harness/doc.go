// Package harness runs edges and services in a test's own process. Tests of the released program run it as a process of
// its own: see the packages process and replicas.
package harness
