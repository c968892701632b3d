// Package era selects, once, the era of a message, and declares the stages that both eras need. The
// eras are era/stateful (revisions with a handshake and sessions) and era/stateless (every request
// is self-contained).
package era
