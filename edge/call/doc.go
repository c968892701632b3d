// Package call models the life of a call as three pure machines: the call on the
// replica that runs it, the exchange that it arrived in, and a reader of its log. Step takes one
// event and returns the effects to carry out. The machines have no lock, clock, goroutine,
// randomness or store. A driver passes a machine one event at a time and carries out its effects in
// order; the result of an effect that takes time comes back as an event.
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
// With a record, these hold in any state: Failed(Fenced) and Closed lead to Over, because another
// replica owns the call or will take it over. Ended leads to Over, because the session has ended.
// Failed(Unavailable) sends the same step again after a pause. The whole table is in machine.go.
//
// If the only call of an exchange has decided when its exchange becomes a stream, one Write begins
// its record and takes its last step (Machines.Conclusion).
//
// A step is a Write. Its owner numbers it under the lease and gives its entries their places in the
// log; it never changes once it was sent. At most one step is in flight.
//
// # A store that lost writes
//
// A replica keeps recent calls that it ran or took an answer for: the Record that the store
// acknowledged last, and the entries of its leases. It sends both to the store again (Restore) when
// a step does not follow the store's state (Failed with Rewound) and when the store was unavailable
// (Returning). The store merges them (Record.Merge): the end of a call wins, then the higher epoch,
// then the later step; answers to the same questions are united. So the order and number of
// restores do not matter, nor whether the store loses writes again.
//
// An Epoch has random bits, and its owner gives each place to one entry. So an event id identifies
// one entry in every history of the store. A reader whose position the store has lost waits
// (Page.Ahead).
package call
