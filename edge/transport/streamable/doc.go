// Package streamable is the Streamable HTTP transport: one path with POST (a message), GET (a
// reader) and DELETE (the end of a session), for the stateful revisions from 2025-03-26 on and for
// the stateless ones, on the same endpoint. It converts bytes to exchanges and exchanges to an HTTP
// response, JSON or Server-Sent Events, whichever the era commits to first; it knows no methods.
//
// Specification: basic/transports (Streamable HTTP), of each revision.
package streamable
