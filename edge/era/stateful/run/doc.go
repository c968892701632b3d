// Package run drives the machines of calls (edge/era/stateful/call): it gives them events and carries out their
// effects, on one replica.
//
//	POST ─► Serve ──events──► Unit: exchange and calls ──Run──► Task.Run, in a goroutine
//	          ▲                 │  ▲   in one inbox                │
//	          └─Respond, Open───┘  └────Emitted, Returned──────────┘
//	                            │  ▲
//	                    Commit, │  │ Stored, Failed              Keep ──► Keeper
//	                    Restore ▼  │                              │
//	 GET ─► Follow ◄──Read──  medium.Store  ◄──Restore── Returning┘
//	                            ▲  │
//	                       Beat │  │ orphans: Claim ──► Unit: a claimed call
//
// There is one way to run a call. No store is called, and nothing foreign is, under a lock. Each inbox has one; the
// replica has one for its tables, under which it may look into an inbox, never the other way round. A call that is
// answered in place touches neither the tables nor the store.
package run
