// Package stdio is the transport of a server that a client runs as its child process: one JSON-RPC
// message per line, requests on one stream and everything else on the other, for all revisions. It
// converts lines to exchanges and exchanges to lines, remembers the session that a handshake
// created, and keeps messages in order if an era requires it; it knows no methods.
//
// Specification: basic/transports (stdio), of each revision.
package stdio
