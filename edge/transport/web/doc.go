// Package web is shared by the HTTP transports: which hosts and origins may call, which requests
// are valid, how one is refused, and how an event stream is written. It knows neither exchanges nor
// eras.
package web
