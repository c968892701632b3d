// Package run drives the machines of calls (edge/era/stateful/call) on one replica: it passes them
// events and carries out their effects.
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
// There is one way to run a call. Neither the store nor any foreign code is called under a lock.
// Each inbox has a lock; the replica has one for its tables, under which it may take an inbox's
// lock, never the reverse. A call that is answered in place touches neither the tables nor the
// store.
package run
