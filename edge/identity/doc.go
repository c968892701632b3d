// Package identity signs the caller's identity for backends. Each RPC for a caller carries a
// short-lived JWT. Backends verify it with the keys that the edge publishes as a JWK Set, so they
// need not trust the connection.
package identity
