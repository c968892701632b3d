// Package stateful serves the revisions of the Model Context Protocol that begin with a handshake:
// initialize, sessions, requests of the server to the client, and event streams that can be
// resumed.
//
// State that outlives one exchange is kept in a medium.Store, so any replica serves any message of
// any session. A request is answered with one JSON body if possible. It becomes a stream when it
// emits an event, asks the client, or runs for longer than Options.StreamAfter: its record and log
// are begun in the store before the first byte is written. From then on the owner of the call
// writes only to the log, and every reader, the first exchange included, follows the log. The life
// of a call is a machine (package call), which package runtime drives.
//
// A call that asks the client is parked: it has no owner until the last answer arrives. The replica
// that takes that answer runs the next round. A call whose replica was lost is taken over by
// another.
package stateful
