// Package simulation runs calls, batches and tasks on two or three replicas (edge/call/runtime, edge/tasks)
// over one store that may lose what it acknowledged, in virtual time. Whatever may come one way or
// another, the order and the delay of messages and every fault, is drawn from rapid: a seed replays a
// history, and a failure shrinks. A history is judged by what clients were sent, what the backend ran
// and what the store has in the end. It has calls of sessions, alone or in batches, or tasks.
//
//	client_test.go   clients ── conn_test.go ──┐                                  ┌── judge_test.go
//	                                           ▼                                  │   ends_test.go
//	replica_test.go                    runtime.Replica ── wire_test.go ──► the store (statetest/model)
//	                                           │                 ▲
//	backend_test.go  backends ◄────────────────┤                 │
//	                                           │                 │
//	tasks_test.go                         tasks.Tasks ───────────┘
//	                                           ▲
//	taskclient_test.go  clients ───────────────┘   taskjudge_test.go, tasklist_test.go
//
// Clients want what they do done: they repeat a request that failed until it is acknowledged, or the call has
// ended. People decide on an approval once it is listed. So a call that ends by its lifetime, though nobody has
// cancelled it, is one that replicas have left.
//
// # What is not demanded
//
// A batch whose store has lost writes may be sent a response twice, or miss one (docs/state.md). A position
// in its log says how many entries a client has, not which: a call that has lost nothing may write at the
// place of an entry of another call that the store has lost and the client has. The ends of the log's
// epochs, in a page, would not show it: the log ends where it did. It would take an epoch of the log for
// each change of its writer, with random bits for each write. Then two calls that report progress in turn
// begin an epoch with each entry: each write reads and writes the list of them, their counter ends after a
// million, and a position may be only medium.MaxAhead epochs ahead. And a client that comes back would
// still be sent responses twice, because one position does not say which calls' responses it has. That is
// too much for a failover during a batch, which one revision has.
//
// The second response may be of another run of the call: the store lost the end of the call, and took another
// before the author of the first had sent that again (ends_test.go). A call that is alone, or a task, may end
// twice in the same way, but a client that has the response of a call has closed its stream.
//
// No response is demanded of a batch whose client has deleted its session, if the store has lost the DELETE
// after the calls were left.
//
// A client that comes back to a replica that has not heard yet that the store was away may be sent that
// its stream is unknown.
//
// A task is unknown if the store loses it once the replicas that wrote it have ended in a drain, or if they
// end so before they hear of the loss (docs/state.md). A drain waits until the store has acknowledged what
// is known of a task. It does not wait for what the store may lose later.
//
// So is a task that the store loses with its session: replicas restore calls, not sessions (docs/tasks.md). A
// Create that was sent twice may create the session again, without the task.
//
// # How a history is repeatable
//
// The goroutines of the replicas run in a bubble of testing/synctest. All that they do to others, an
// operation on the store, a round for the backend or data for a client, arrives at the world
// (world_test.go), which takes it once all goroutines wait, in an order that does not depend on
// theirs, and draws what becomes of it. Whatever the world does to a replica, the reply to one
// operation or one request, happens at an instant of its own: a number of nanoseconds that no other
// has. Timers of replicas wait whole milliseconds from there, so they never meet another's. What is
// left to chance would be a select with two events that occurred while its goroutine waited for
// something else; edge/call/runtime and edge/tasks decide those.
//
// # Running it
//
// It has tests only. In TestSimulation one history is one of rapid's checks: -rapid.checks sets how
// many are played, -rapid.seed which, and -simulation.trace tells what happened in one that fails.
// TestSeeds plays -simulation.histories from seed -simulation.from on, and TestPrintOneHistory
// prints that of -simulation.seed, with the bug of the number -simulation.bug. -simulation.kind plays
// only calls, batches or tasks. TestPlantedBugsAreFound, with -simulation.bugs, spoils replicas
// (bugs_test.go) and the store, and looks for a history that shows it.
package simulation
