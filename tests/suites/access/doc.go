// Package access has clients log in at real authorization servers, Keycloak and oidc-provider, and call an edge with what
// they got: `make stages ONLY=access` runs it.
//
// Each client is one that people use, with its own OAuth code. In TestClients it is told the edge's URL, logs in, lists, calls,
// asks for a further scope when a tool needs it, refreshes its token, and is refused in the end. What went over HTTP between it,
// the edge and the authorization server is held against the transcripts in testdata, without tokens, codes and ids; -update
// writes them.
//
// registration_test.go and preregistered_test.go are about servers where no client registers itself: what works there, and why the
// edge does not register clients for them.
package access
