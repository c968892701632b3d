// Package state is the vocabulary of what outlives one request of the legacy era and, with a shared
// medium, one replica: sessions, the logs of their streams, and the calls that run or wait.
// state/medium defines the operations of a medium. The media are state/memory, for one replica, and
// state/redis; state/statetest is the test suite that all media pass.
//
// Terms. A replica is one incarnation of an edge process. A stream begins with one POST; its log
// has every event with an id. A call is one request whose exchange became a stream; the calls of a
// batch share a stream. A lease is the right of one replica to write about a call. It names the
// Epoch; a write under an older epoch is refused (ErrFenced), so a replica that was declared lost
// can do no harm. Only the medium's clock decides when leases and sessions expire.
//
// A medium owns the byte slices that it is given, and those that it returns are shared: neither
// side changes them. If a context is done, its error is returned; as with ErrUnavailable, it is
// then unknown whether a write happened.
package state
