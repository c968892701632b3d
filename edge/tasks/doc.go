// Package tasks is the stage between the eras and dispatch: it makes tasks of calls, and serves what clients ask about them, in
// both eras. A task is a call (package call) that nobody has to hold a connection for. Its record, its steps and its takeovers are those of
// every call, driven by run; what differs is the rim:
//
//	     tools/call                                           tasks/get, update, cancel, result
//	         │                                                          │
//	plain ◄──┼──► deferred: run.Unit, an exchange             view: the task's log and record
//	         │      which, when it becomes a stream,                    ▲
//	         │      answers with the task                               │
//	         └──► at once: run.Replica.Begin, a record       medium.Store, one session for each task
//	                that is ready to be run
//
// Each task has a session of its own in a medium of its own: its id is the task's, its principal the task's owner. It has one
// stream, whose log is the task's history:
//
//	EntryNotice    how it began, and each run that another owner, or another round, begins; kept
//	EntryLog       a status message; the oldest go
//	EntryRequest   a question to the client; kept, with its key
//	EntryResponse  how the task ended: a result, an error, or cancelled
//
// Each entry has the time it was written at. The backend's answer is kept as it was rendered under the revision of the request that
// began the task, and brought to that of whoever reads it (see render.go).
//
// A task belongs to its principal, from either era and any session. To others it does not exist.
package tasks
