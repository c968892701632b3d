package web

import (
	"net/http"
	"testing"
)

// The most specific range decides, and a weight of 0 refuses.
func TestAcceptedBy(t *testing.T) {
	all, json, events, none := Accepted{JSON: true, Events: true}, Accepted{JSON: true}, Accepted{Events: true}, Accepted{}
	for _, c := range []struct {
		values []string
		want   Accepted
	}{
		{nil, all},
		{[]string{""}, all},
		{[]string{"application/json, text/event-stream"}, all},
		{[]string{"application/json", "text/event-stream"}, all},
		{[]string{"text/event-stream;q=0.5,application/json;q=0.9"}, all},
		{[]string{"*/*"}, all},
		{[]string{"application/json"}, json},
		{[]string{"APPLICATION/JSON; charset=utf-8"}, json},
		{[]string{"application/*"}, json},
		{[]string{"text/event-stream"}, events},
		{[]string{"text/*"}, events},
		{[]string{"application/json, text/event-stream;q=0"}, json},
		{[]string{"*/*, text/event-stream; q=0.000"}, json},
		{[]string{"text/event-stream;q=0, */*"}, json},
		{[]string{"*/*;q=0, text/event-stream"}, events},
		{[]string{"application/*;q=0, application/json"}, json},
		{[]string{"application/json;q=0, */*"}, events},
		{[]string{"*/*;q=0"}, none},
		{[]string{"text/html"}, none},
		{[]string{"json"}, none},
		{[]string{"application/json;q=nonsense"}, json},
	} {
		if got := AcceptedBy(http.Header{"Accept": c.values}); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.values, got, c.want)
		}
	}
}
