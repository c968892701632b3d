package streamable

import "github.com/mcpedge/mcpedge/edge/transport/web"

// Options are the settings of the transport. The zero value of each member is its documented default.
// A client that is disconnected because it did not read in time resumes.
type Options = web.Options

// Authenticator turns a request's credentials into a principal. A nil Authenticator makes everybody
// anonymous.
type Authenticator = web.Authenticator
