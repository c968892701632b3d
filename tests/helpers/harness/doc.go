// Package harness runs edges and services in the test's process. The packages process and replicas
// run the released program as a separate process.
package harness
