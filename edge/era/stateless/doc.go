// Package stateless is the era of self-contained requests: it has no handshake, no sessions and no
// requests to the client. A call that needs input answers with `input_required`, and the client
// calls again with the answers. The backend's state between the rounds is sealed and passes through
// the client.
//
// Specification, 2026-07-28: basic/lifecycle, basic/transports, server/utilities (multi round-trip
// requests, subscriptions, caching).
package stateless
