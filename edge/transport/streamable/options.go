package streamable

import "github.com/mcpedge/mcpedge/edge/transport/web"

// Options configure the transport. The zero value of a field selects its default. A client that is
// disconnected because it did not read in time can resume.
type Options = web.Options

// Authenticator derives the principal from a request's credentials. A nil Authenticator makes every
// caller anonymous.
type Authenticator = web.Authenticator
