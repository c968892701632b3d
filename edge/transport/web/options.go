package web

import (
	"net/http"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options are the settings of all HTTP transports. The zero value of a field selects its default.
type Options struct {
	// MaxBody bounds a request body, in bytes. 0 means DefaultMaxBody. A larger one is refused with
	// 413.
	MaxBody int64
	// ReadTimeout is the server's read timeout, which the server enforces, for messages. 0 means 30
	// s.
	ReadTimeout time.Duration
	// WriteTimeout bounds one write to a client. 0 means 10 s. A client that takes longer is
	// disconnected.
	WriteTimeout time.Duration
	// Origins are the allowed origins of browsers, such as "https://app.example"; "*" allows any.
	// Empty allows only an origin that names the edge's own host.
	Origins []string
	// Telemetry counts bounds that are reached. It may be nil.
	Telemetry *telemetry.Telemetry
	// Hosts are the allowed names in the Host header, without port. Empty allows any. A listener on
	// loopback must set them, or a web page could reach it by DNS rebinding.
	Hosts []string
	// HostsKey and OriginsKey are the settings that add to Hosts and Origins, for messages. Empty
	// means that none does.
	HostsKey, OriginsKey string
	// Refused is called for each request whose host or origin is refused, with one of Reasons and the
	// message to the caller. It must be safe for concurrent use. nil ignores them.
	Refused func(r *http.Request, reason, message string)
	// Linked allows navigation from pages of other sites, by a link or an address, for a handler
	// whose GET has no effect and is cheap.
	Linked bool
	// Proxies are the proxies that are trusted to name the address of a client. nil trusts none.
	Proxies Proxies
	// Budget admits what requests hold in memory. It charges Holder, or else the request's
	// principal or address. nil admits everything.
	Budget *budget.Budget
	Holder *budget.Holder
	// Tokens keeps the access token of a request, see Guard.Token.
	Tokens bool
	// Refusal renders the body of a refusal, as JSON. nil renders a JSON-RPC error without an id.
	Refusal func(status int, message string) []byte
}

// DefaultMaxBody fits into a gRPC message of the default size (4 MiB) with its context.
const DefaultMaxBody = 4<<20 - 64<<10

const defaultReadTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.Refusal == nil {
		o.Refusal = func(status int, message string) []byte {
			switch status {
			case http.StatusServiceUnavailable:
				return refusal(codeNotNow, message)
			case http.StatusUnauthorized:
				return refusal(codeUnauthenticated, message)
			case http.StatusTooManyRequests:
				return refusal(codeLimit, message)
			}
			return Refusal(message)
		}
	}
	return o
}
