// Package stateless is the era in which every request carries all it needs: no handshake, no
// sessions, no requests to the client. A call that needs input answers with `input_required`, and the
// client calls again with the answers; what the backend wants to remember in between travels sealed
// through the client (see seal.go).
//
// Specification, 2026-07-28: basic/lifecycle, basic/transports, server/utilities (multi round-trip
// requests, subscriptions, caching).
package stateless
