// Package runtime drives the machines of calls (edge/call) on one replica: it passes them events
// and carries out their effects. A session or a task holds a call: its Runner runs the rounds, of
// which Rounds has what both need, and is notified of the call's progress.
//
//	POST ─► Serve ──events──► Group: exchange and calls ─Run──► Runner.Run, in a goroutine
//	          ▲                 │  ▲   in one inbox                │
//	          └─Respond, Open───┘  └────Emitted, Returned──────────┘
//	                            │  ▲
//	                    Commit, │  │ Stored, Failed              Keep ──► Keeper
//	                    Restore ▼  │                              │
//	 GET ─► Follow ◄──Read──  medium.Store  ◄──Restore── Returning┘
//	                            ▲  │
//	                       Beat │  │ orphans: Claim ──► Group: a claimed call
//
// There is one way to run a call. Neither the store nor any foreign code is called under a lock.
// Each inbox has a lock; the replica has one for its tables, under which it may take an inbox's
// lock, never the reverse. A call that is answered in place touches neither the tables nor the
// store.
package runtime
