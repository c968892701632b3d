// Package web is what the HTTP transports share: which hosts and origins may call, what a request must
// look like to be read, how one is refused, and how an event stream is written. It knows neither
// exchanges nor eras.
package web
