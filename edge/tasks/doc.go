// Package tasks is the stage between the eras and dispatch: it makes tasks of calls, and serves the
// requests about tasks, in both eras. A task is a call (package call) that needs no open
// connection. Its record, its steps and its takeovers are those of every call, driven by package
// runtime; only its interface to clients differs:
//
//	     tools/call                                           tasks/get, update, cancel, result
//	         │                                                          │
//	plain ◄──┼──► deferred: runtime.Group, an exchange        view: the task's log and record
//	         │      which, when it becomes a stream,                    ▲
//	         │      answers with the task                               │
//	         └──► at once: runtime.Replica.Begin, a record   medium.Store, one session for each task
//	                that is ready to be run
//
// Each task has a session of its own in a medium of its own: its id is the task's, its principal
// the task's owner. It has one stream, whose log is the task's history:
//
//	EntryNotice    how it began, and each run that another owner, or another round, begins; kept
//	EntryLog       a status message; the oldest go
//	EntryRequest   a question to the client; kept, with its key
//	EntryResponse  how the task ended: a result, an error, or cancelled
//
// Each entry has the time at which it was written. The backend's answer is stored as rendered under
// the revision of the request that began the task, and converted to the revision of each request
// that reads it (see render.go).
//
// A task belongs to its principal, from either era and any session. For other principals it does
// not exist.
package tasks
