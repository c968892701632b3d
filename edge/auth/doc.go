// Package auth says who is calling: it makes the edge an OAuth 2.1 resource server (MCP, "Authorization"). It takes a
// request's credentials, an access token that an issuer signed (RFC 9068 and what issuers make of it) or the API key of a
// machine, and returns the principal or the denial: status and challenges. It serves the metadata by which clients find the
// authorization servers (RFC 9728).
//
// A token is held for as long as its request is served. What is kept of it is its SHA-256, with the principal that it
// stood for, in memory.
package auth
