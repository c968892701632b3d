// Package era chooses, once, which era of the protocol a message belongs to, and declares what both
// eras need of the stages behind them. The eras themselves are era/stateful (the revisions with a
// handshake and sessions) and era/stateless (everything a request needs comes with it).
package era
