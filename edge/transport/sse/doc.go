// Package sse is the HTTP+SSE transport of the oldest revision: GET opens an event stream, whose first
// event, `endpoint`, names where to POST; every message for the client is a `message` event of that
// stream, and a POST is answered with 202 and an empty body. It knows no methods and no revisions, and
// it is for the stateful era alone: Stateless refuses what belongs to the other.
//
// A connection is an open GET in this process, known by a random token. Its MCP session, which the
// client never sees the id of, is made by initialize and lives as long as the connection: when the GET
// ends, the session is ended and its calls are cut. Nothing can be resumed. Events have no ids; the
// session's standalone stream and the streams of its calls are all written to the one GET, by one
// writer at a time, and a client that does not read in time is disconnected.
//
// With several replicas a POST may come to any: the token names the replica that has the GET, and a Relay
// takes the message there. A client whose replica dies loses its stream, and opens another.
//
// Specification: basic/transports (HTTP with SSE), of revision 2024-11-05.
package sse
