package client

import "testing"

// Errors have the text of the server, without the SDK's additions.
func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`calling "tools/call": sending "tools/call": no such argument: rejected by transport: Bad Request`: "no such argument",
		`calling "tools/call": unknown tool "x": tools/list names those that exist`:                        `unknown tool "x": tools/list names those that exist`,
		`calling "initialize": sending "initialize": Not Found: the server says: there is none`:            "Not Found: the server says: there is none",
		`sending "ping": it is calling "home": rejected by transport`:                                      `it is calling "home"`,
		`calling "initialize": rejected by transport: Post "http://h/mcp": dial tcp: connection refused`:   `Post "http://h/mcp": dial tcp: connection refused`,
		"busy: rejected by transport: Too Many Requests: try again in 5 s":                                 "busy: try again in 5 s",
		"dial tcp 127.0.0.1:1: connect: connection refused":                                                "dial tcp 127.0.0.1:1: connect: connection refused",
		"": "",
	} {
		if got := plain(text); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", text, got, want)
		}
	}
}
