// Package simulation runs the machines of calls on two or three replicas over one store that may
// lose what it acknowledged, in one goroutine and in virtual time. Whatever may come one way or
// another, the order and the delay of messages and every fault, is drawn from rapid: a seed replays
// a history, and a failure shrinks. A history is judged by what clients were sent and what the
// backend ran.
//
// It has tests only. In TestSimulation one history is one of rapid's checks: -rapid.checks sets how
// many are played, -rapid.seed which, and -simulation.trace tells what happened in one that fails.
// TestSeeds plays -simulation.histories from seed -simulation.from on, and TestPrintOneHistory
// prints that of -simulation.seed.
package simulation
