// Package mcp is the vocabulary that the stages of a request share: methods, calls, replies, sinks,
// errors, principals, and the exchange between a transport and an era. Its only behaviour is to
// parse a request's params once. It knows no revision of the protocol.
package mcp
