// Package stdio is the transport of a server that a client runs as its child: one JSON-RPC message on
// a line, requests on one stream and everything else on the other, for every revision at once. It
// turns lines into exchanges and exchanges into lines, remembers the session that a handshake made,
// and keeps messages in order where an era wants them so; it knows no methods.
//
// Specification: basic/transports (stdio), of each revision.
package stdio
