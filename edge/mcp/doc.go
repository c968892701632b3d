// Package mcp is the vocabulary that the stages of a request share: methods, calls, replies, sinks,
// errors, principals, and the exchange between a transport and an era. It holds no behaviour beyond
// reading a request's params once, and no revision of the protocol is known here.
package mcp
