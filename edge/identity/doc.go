// Package identity signs for backends who is calling: a short JWT for each RPC that is made for a caller, which a backend
// verifies with the keys that the edge publishes as a JWK Set, and so need not trust the connection alone.
package identity
