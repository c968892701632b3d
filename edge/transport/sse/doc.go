// Package sse is the HTTP+SSE transport of the oldest revision. GET opens an event stream, whose
// first event, `endpoint`, names where to POST; every message for the client is a `message` event
// of that stream, and a POST is answered with 202 and an empty body. It knows no methods and no
// revisions. It only serves the stateful era: Stateless refuses messages of the other.
//
// A connection is an open GET in this process, identified by a random token. Its MCP session, whose
// id the client never sees, is created by initialize and lives as long as the connection: when the
// GET ends, the session ends and its calls are cancelled. Nothing can be resumed. Events have no
// ids. The session's standalone stream and the streams of its calls are all written to the one GET,
// by one writer at a time, and a client that does not read in time is disconnected.
//
// With several replicas a POST may arrive at any: the token names the replica with the GET, and a
// Relay sends the message there. A client whose replica dies loses its stream and opens another.
//
// Specification: basic/transports (HTTP with SSE), of revision 2024-11-05.
package sse
