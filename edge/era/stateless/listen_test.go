package stateless

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// listening starts a subscription and returns when its acknowledgement was sent.
func listening(t *testing.T, e *Era, params string) (r *recorder, leave func(), ended <-chan struct{}) {
	t.Helper()
	b, h := request("subscriptions/listen", params)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	r = newRecorder()
	go func() {
		defer close(done)
		(&era.Router{Stateless: e}).Post(ctx, &mcp.Incoming{Body: []byte(b), Header: h}, r)
	}()
	<-r.wrote
	return r, cancel, done
}

func TestListen(t *testing.T) {
	feed := newFeed()
	e := newEra(t, &fakeDispatch{feed: feed}, Options{})
	r, leave, ended := listening(t, e, `"notifications":{"toolsListChanged":true,"toolslistchanged":false,"PROMPTSLISTCHANGED":true,"promptsListChanged":false,"resourceSubscriptions":["b:x","a:x","b:x"]}`)
	feed.changes <- []mcp.Change{{Kind: mcp.ToolsChanged}, {Kind: mcp.ResourceUpdated, URI: "a:x"}}
	<-r.wrote
	<-r.wrote
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":7}`
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + tag +
			`,"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:x","b:x"]}}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + tag + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + tag + `,"uri":"a:x"}}`,
	}
	got := r.seen()
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("events\n%v, want\n%v", got, want)
		}
	}
	leave()
	<-ended
	<-feed.done
	if len(r.seen()) != 3 {
		t.Errorf("a result was sent to a client that left: %v", r.seen())
	}
}

func TestDrainEndsListenWithItsResult(t *testing.T) {
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{})
	r, leave, ended := listening(t, e, `"notifications":{}`)
	defer leave()
	e.Drain()
	<-ended
	contains(t, r.seen()[1], `"id":7,"result":{"resultType":"complete"`, `"io.modelcontextprotocol/subscriptionId":7`)
}

func TestListenIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{KeepAlive: time.Second})
		r, leave, ended := listening(t, e, `"notifications":{}`)
		time.Sleep(2500 * time.Millisecond)
		leave()
		<-ended
		if r.comments != 2 {
			t.Errorf("%d comments in 2.5 s, want 2", r.comments)
		}
	})
}

// Subscribed resources are charged to the principal, because there is no session.
func TestListensAreBoundedInBytes(t *testing.T) {
	const each = 1000 + uriOverhead
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{MaxListenBytes: 3 * each})
	uris := func(first, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"a:%0998d"`, first+i))
		}
		return `"notifications":{"resourceSubscriptions":[` + strings.Join(list, ",") + `]}`
	}
	_, leave, ended := listening(t, e, uris(0, 2))
	if n := e.ListenBytes(); n != 2*each {
		t.Errorf("two resources count %d bytes, want %d", n, 2*each)
	}
	b, h := request("subscriptions/listen", uris(2, 2))
	r := post(t, e, b, h, mcp.Principal{})
	if r.response.Kind != mcp.KindLimit {
		t.Error(body(t, r))
	}
	contains(t, body(t, r), fmt.Sprintf("have %d of at most %d bytes, and %d more", 2*each, 3*each, 2*each))
	// A subscription without resources takes none of the bytes, and another principal has its own.
	_, leave2, ended2 := listening(t, e, `"notifications":{"toolsListChanged":true}`)
	leave2()
	<-ended2
	leave()
	<-ended
	if n := e.ListenBytes(); n != 0 {
		t.Errorf("%d bytes count after the end", n)
	}
	_, leave, ended = listening(t, e, uris(2, 3))
	leave()
	<-ended
}

// The bytes of a filter are bounded before any decision.
func TestFiltersAreBoundedInBytes(t *testing.T) {
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{})
	list := func(each, n int) string {
		return `["` + strings.Join(slices.Repeat([]string{"a:" + strings.Repeat("1", each-2)}, n), `","`) + `"]`
	}
	for _, filter := range []string{`"resourceSubscriptions":` + list(mcp.MaxURI, 33), `"taskIds":` + list(mcp.MaxName, 257)} {
		b, h := request("subscriptions/listen", `"notifications":{`+filter+`}`)
		contains(t, body(t, post(t, e, b, h, mcp.Principal{})), "-32602", "bytes together: the limit is 262144, listen for the rest in another request")
	}
	_, leave, ended := listening(t, e, `"notifications":{"resourceSubscriptions":`+list(mcp.MaxURI, 32)+`}`)
	leave()
	<-ended
}

func TestListensAreBounded(t *testing.T) {
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{MaxListens: 1, MaxSubscriptions: 1})
	_, leave, ended := listening(t, e, `"notifications":{}`)
	b, h := request("subscriptions/listen", `"notifications":{}`)
	if r := post(t, e, b, h, mcp.Principal{}); r.response.Kind != mcp.KindLimit {
		t.Error(body(t, r))
	}
	leave()
	<-ended
	b, h = request("subscriptions/listen", `"notifications":{"resourceSubscriptions":["a:1","a:2"]}`)
	contains(t, body(t, post(t, e, b, h, mcp.Principal{})), "-32602", "the limit is 1")
	b, h = request("subscriptions/listen", `"notifications":{"resourceSubscriptions":["a:`+strings.Repeat("1", mcp.MaxURI)+`"]}`)
	contains(t, body(t, post(t, e, b, h, mcp.Principal{})), "-32602", "has 8194 bytes, at most 8192")
	b, h = request("subscriptions/listen", "")
	contains(t, body(t, post(t, e, b, h, mcp.Principal{})), "-32602", "params.notifications")
}

// The error for a member of the wrong type names the member and the required type.
func TestListensOfWrongTypes(t *testing.T) {
	e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{})
	for members, want := range map[string]string{
		`"notifications":[]`:                             "params.notifications must be an object",
		`"notifications":{"toolsListChanged":"yes"}`:     "params.notifications.toolsListChanged must be true or false",
		`"notifications":{"taskIds":"one"}`:              "params.notifications.taskIds must be a list of strings",
		`"notifications":{"resourceSubscriptions":[{}]}`: "params.notifications.resourceSubscriptions must be a list of strings",
	} {
		b, h := request("subscriptions/listen", members)
		contains(t, body(t, post(t, e, b, h, mcp.Principal{})), "-32602", want)
	}
}

// A subscription ends with its result when the credentials of its request have expired.
func TestListenEndsWithTheCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEra(t, &fakeDispatch{feed: newFeed()}, Options{KeepAlive: time.Hour})
		began := time.Now()
		b, h := request("subscriptions/listen", `"notifications":{}`)
		r := newRecorder()
		go func() {
			for range 2 {
				<-r.wrote
			}
		}()
		(&era.Router{Stateless: e}).Post(t.Context(), &mcp.Incoming{
			Body: []byte(b), Header: h, Principal: mcp.Principal{Subject: "alice", Until: began.Add(time.Minute)},
		}, r)
		if took := time.Since(began); took != time.Minute || e.Expired() != 1 {
			t.Errorf("it ended after %v; %d have expired", took, e.Expired())
		}
		contains(t, r.seen()[1], `"id":7,"result":{"resultType":"complete"`)
	})
}
