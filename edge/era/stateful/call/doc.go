// Package call is the life of a call of the legacy era, as machines: the call on the replica that runs it, the exchange
// that it came in, and a reader of its log. Each is pure: Step takes one event and returns what is to be done. There is no
// lock, clock, goroutine, randomness or store in it. Whoever drives a machine gives it one event at a time and
// carries out its effects, in order; what takes time comes back as an event.
//
// # A call
//
//	                  Started                          events of the backend wait 1 ms for the next
//	       New ───────────────────► Direct ─┐          Cancelled, Expired, Ended, Closed: Stop
//	        │                        ▲ │ ▲  │
//	Claimed │          Due, no record│ │ │  └─ Returned ─► Decided ─ Kept ─► Over
//	        │   ┌────────────────────┘ │ │                    │
//	        │   │      Returned(Busy)  │ │ Begun              │ Begun
//	        │ Pausing ◄────────────────┴─┼──────┐             ▼
//	        │   │                        ▼      │         Finishing ─ Stored, the last step ─► Over
//	        │   │ Due, a record       Running ──┘             ▲
//	        │   ▼                      ▲    │                 │
//	        ├► Marking ── Stored ──────┘    └─ Returned ──────┤
//	        │                                  Cancelled, Expired
//	        └─ not to be run again ───────────────────────────┘
//
// With a record, in any state: Failed(Fenced) and Closed lead to Over, where another replica has the call or takes it;
// Ended leads to Over, for the session has. Failed(Unavailable) sends the same step again after a pause. The whole
// table is in machine.go.
//
// A call that has decided while its exchange becomes a stream, and is alone in it, is one Write: its record begins with
// its last step (Unit.Conclusion).
//
// A step is a Write: numbered under the lease, its entries placed in the log by their writer, and never changed once
// it was sent. One is on its way at a time.
//
// # A store that went back in time
//
// A replica knows of each call that it ran, or took an answer for, of late, the Record as the store acknowledged it
// last, and the entries of its leases. When a step does not follow what the store has (Failed with Rewound), or the
// store was away (Returning), it gives all of that back: Restore. The store merges (Record.Merge): the end of a call
// wins, then the higher epoch, then the later step; answers to the same questions are united. So it does not matter in
// which order replicas restore, how often, or whether the store goes back again.
//
// An Epoch has random bits, and the owner of an epoch gives each place to one entry. So an event id stands for one entry in
// every history of the store. A reader whose position the store has lost waits (Page.Ahead).
package call
