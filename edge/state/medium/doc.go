// Package medium is what a medium of durable state is, for calls that are machines (edge/era/stateful/call): fifteen
// methods, and the rules by which every medium and every replica make the same of a record. The words, the records of
// sessions and the errors are those of edge/state.
//
// # Words
//
// A call has a Record once its exchange is a stream. One replica at a time owns it: that one has the lease, under an
// Epoch. The owner writes steps (Write), numbered under the epoch, and gives the entries of the log their places: a
// Position is an epoch and a number. So one event id stands for one entry in every history of a medium that loses writes.
//
// # A medium that lost writes
//
// A replica gives back what it knows of a call as a whole (Calls.Restore), and the medium merges (Record.Merge): the
// end of a call wins, then the higher epoch, then the later step; answers to the same questions are united. A write that does not
// follow what the medium has is refused with ErrRewound. Readers never write.
//
// # Errors
//
// Those of edge/state: ErrNotFound for a session, or a stream, that is not there; ErrFenced for a call that is
// another's or has ended; ErrExists, ErrLimit and ErrTooLarge refuse what an operation says: nothing was written. And
// ErrRewound. Any other error, that of a context included, leaves open whether the operation happened: each may be sent
// again as it was, any number of times and however late, and the repetition does nothing more.
package medium
