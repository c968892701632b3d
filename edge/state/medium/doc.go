// Package medium defines the operations of a medium of durable state for calls that are machines
// (edge/call): fifteen methods, and the rules by which all media and replicas derive
// the same record. The terms, the records of sessions and the errors are those of edge/state.
//
// # Terms
//
// A call has a Record once its exchange is a stream. One replica at a time owns it: that replica
// holds the lease, under an Epoch. The owner writes steps (Write), numbered under the epoch, and
// gives the log entries their places: a Position is an epoch and a number. So one event id
// identifies one entry in every history of a medium that loses writes.
//
// # A medium that lost writes
//
// A replica restores what it knows of a call as a whole (Calls.Restore), and the medium merges it
// (Record.Merge): the end of a call wins, then the higher epoch, then the later step; answers to
// the same questions are united. A write that does not follow the medium's state is refused with a
// RewoundError. Readers never write.
//
// # Errors
//
// The errors are those of edge/state, and RewoundError. ErrNotFound: the session or stream does not
// exist. ErrFenced: the call has another owner or has ended. ErrExists, ErrLimit and ErrTooLarge
// reject the content of an operation; nothing was written. After any other error, that of a context
// included, it is unknown whether the operation happened. Each operation may be repeated unchanged,
// any number of times and however late, and has no further effect.
package medium
