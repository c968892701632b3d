// Package stateful serves the revisions of the Model Context Protocol that begin with a handshake:
// initialize, sessions, requests of the server to the client, and event streams that can be resumed.
//
// What must outlive one exchange is kept in a medium.Store, so any replica serves any message of any
// session. A request is answered with one JSON body when it can be. It outgrows its exchange when it
// emits an event, asks the client, or runs for longer than Options.StreamAfter: then its record and
// its log are begun in the store, and only then the first byte is written. From there on whoever runs
// the call writes to the log alone, and every reader, the first exchange included, follows the log.
// The life of a call is a machine (package call), which package run drives.
//
// A call that asks the client is parked: nobody runs it until the last answer arrives, on whichever
// replica, which then runs the next round. A call whose replica was lost is taken over by another.
package stateful
