// Package state is the vocabulary of what must outlive one request of the legacy era, and with a shared medium
// one replica: sessions, the logs of their streams, and the calls that run or wait. What a medium of it does is state/medium;
// the media are state/memory for one replica and any later sibling; state/statetest is the suite they all pass.
//
// Words. A replica is one incarnation of an edge process. A stream is born of one POST; its log holds
// every event that has an id. A call is one request that outgrew its exchange; several calls share a
// stream when they came in one batch. A lease is the right of one replica to write about a call: it names the Epoch,
// and a write under an older epoch is refused (ErrFenced), so a replica that was given up for lost can
// do no harm. Only the medium's clock judges leases and expiry.
//
// Byte slices given to a medium are its own from then on, and those it gives out are shared: neither
// side changes them. A context that has ended gives its error; as with ErrUnavailable it is then not
// known whether a write happened.
package state
