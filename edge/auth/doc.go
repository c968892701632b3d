// Package auth authenticates callers. It makes the edge an OAuth 2.1 resource server (MCP,
// "Authorization"). From a request's credentials, an access token signed by an issuer (RFC 9068 and
// the variants of issuers) or the API key of a machine, it derives the principal or the denial:
// status and challenges. It serves the metadata by which clients find the authorization servers
// (RFC 9728).
//
// A token is held while its request is served. Only its SHA-256 is stored, in memory, with its
// principal.
package auth
