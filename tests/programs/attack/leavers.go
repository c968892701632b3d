package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/frame"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

var leaverAttacks = []attack{
	{name: "listens-revoked", what: "streams of callers whose key is taken away, whose token expires or is revoked, or whose session is deleted, while resources change", run: listenRevoked},
}

// pulse is the watches of a backend's resources. All change when it beats.
type pulse struct {
	mu      sync.Mutex
	watches map[string]int // by URI
	beat    chan struct{}  // closed at the next beat
}

func newPulse() *pulse {
	return &pulse{watches: map[string]int{}, beat: make(chan struct{})}
}

// beats changes all resources.
func (p *pulse) beats() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.beat)
	p.beat = make(chan struct{})
}

// watched returns the URIs that are watched.
func (p *pulse) watched() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.watches))
}

func (p *pulse) add(uri string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watches[uri] += n; p.watches[uri] == 0 {
		delete(p.watches, uri)
	}
}

func (p *pulse) next() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.beat
}

// WatchResource implements the contract.
func (h *holder) WatchResource(in *pb.WatchResourceRequest, s grpc.ServerStreamingServer[pb.WatchResourceResponse]) error {
	if h.pulse == nil {
		return status.Error(codes.Unimplemented, "nothing can be watched")
	}
	h.pulse.add(in.GetUri(), 1)
	defer h.pulse.add(in.GetUri(), -1)
	if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Started{Started: &pb.WatchStarted{}}}); err != nil {
		return err
	}
	for {
		select {
		case <-h.pulse.next():
		case <-s.Context().Done():
			return s.Context().Err()
		}
		if err := s.Send(&pb.WatchResourceResponse{Event: &pb.WatchResourceResponse_Updated{Updated: &pb.ResourceUpdated{}}}); err != nil {
			return err
		}
	}
}

// listener is an open stream of a caller that is told of changes of one resource.
type listener struct {
	name, uri string
	caller    *rogue
	session   string // empty: it is a subscriptions/listen
	resp      *http.Response
	done      chan struct{}

	mu     sync.Mutex
	events int
	last   time.Time // when the last change was told
	lastID string
}

// follow reads the stream until its end.
func (l *listener) follow() {
	defer close(l.done)
	events := frame.NewReader(l.resp.Body, 1<<20)
	for {
		ev, err := events.Next()
		if err != nil {
			return
		}
		l.mu.Lock()
		if bytes.Contains(ev.Data, []byte("notifications/resources/updated")) {
			l.events, l.last = l.events+1, time.Now()
		}
		l.lastID = events.LastEventID()
		l.mu.Unlock()
	}
}

// told returns how many changes the stream has told of, and when of the last.
func (l *listener) told() (int, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events, l.last
}

func (l *listener) over() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// listen opens a subscriptions/listen, or the standalone stream of a new session.
func listen(ctx context.Context, name string, caller *rogue, session bool) (*listener, error) {
	l := &listener{name: name, uri: "file:///a/" + strings.ReplaceAll(name, " ", "-"), caller: caller, done: make(chan struct{})}
	var err error
	if session {
		if l.session, err = caller.hello(ctx, `{"name":"listener","version":"1"}`); err != nil {
			return nil, err
		}
		a, err := caller.legacy(ctx, l.session, "resources/subscribe", `{"uri":"`+l.uri+`"}`)
		if err != nil || a.status != http.StatusOK || !bytes.Contains(a.body, []byte(`"result"`)) {
			return nil, fmt.Errorf("resources/subscribe: %v, %v", err, a)
		}
		l.resp, err = caller.open(ctx, http.MethodGet, "", sessionHeader(l.session)...)
		if err != nil {
			return nil, err
		}
	} else if l.resp, err = caller.open(ctx, http.MethodPost, caller.modernBody("subscriptions/listen", `,"notifications":{"resourceSubscriptions":["`+l.uri+`"]}`),
		modernHeader("subscriptions/listen", "")...); err != nil {
		return nil, err
	}
	if l.resp.StatusCode != http.StatusOK {
		_ = l.resp.Body.Close()
		return nil, fmt.Errorf("the stream of %s: %s", name, l.resp.Status)
	}
	go l.follow()
	return l, nil
}

// revocation is what is attacked: the streams that end, and those that stay.
type revocation struct {
	*contest
	s       *site
	lock    *lock
	holder  *holder
	keys    string // the file of API keys
	callers []*rogue
	all     []*listener
	beating context.CancelFunc
	beats   sync.WaitGroup
}

// Tokens of the attack live so long, and introspection is asked again so often.
const (
	expiresAfter  = 6 * time.Second
	introspection = time.Second
	// tolerated is for how long after a revocation events may come: a file of keys is read every two seconds, streams of opaque tokens stay for
	// twice the time that an answer counts, and an expiry is held against what other replicas know.
	tolerated = 6 * time.Second
)

func listenRevoked(ctx context.Context, s *site) error {
	v := &revocation{s: s, holder: everything("pulse"), keys: filepath.Join(s.dir, "listens-keys.yaml")}
	v.holder.pulse = newPulse()
	defer v.holder.down()
	var err error
	if v.lock, err = newLock(); err != nil {
		return err
	}
	defer v.lock.stop()
	secret := filepath.Join(s.dir, "listens-secret")
	if err := errors.Join(os.WriteFile(secret, []byte(issuer.ClientSecret), 0o600), v.writeKeys("keeper", "leaver")); err != nil {
		return err
	}
	auth := fmt.Sprintf("auth:\n  api-keys: %q\n  issuers:\n    - issuer: %q\n      skew: 0s\n      introspection: {url: %q, client-id: %q, client-secret-file: %q, ttl: %s}\n",
		v.keys, v.lock.URL, v.lock.IntrospectionURL(), issuer.ClientID, secret, introspection)
	if v.contest, err = s.contend(ctx, "listens-revoked", auth, nil, v.holder); err != nil {
		return err
	}
	defer v.end()
	return v.run(ctx)
}

func (v *revocation) end() {
	v.rest()
	for _, l := range v.all {
		_ = l.resp.Body.Close()
		<-l.done
	}
	for _, c := range v.callers {
		c.close()
	}
	v.contest.end()
}

// writeKeys writes the file of API keys.
func (v *revocation) writeKeys(names ...string) error {
	text := ""
	for _, name := range names {
		text += fmt.Sprintf("- {name: %s, sha256: %x}\n", name, sha256.Sum256([]byte("key-of-"+name)))
	}
	return os.WriteFile(v.keys, []byte(text), 0o600)
}

// beat changes the resources again and again until rest.
func (v *revocation) beat(ctx context.Context) {
	ctx, v.beating = context.WithCancel(ctx)
	v.beats.Go(func() {
		for ctx.Err() == nil {
			v.holder.pulse.beats()
			pause(ctx, 50*time.Millisecond)
		}
	})
}

func (v *revocation) rest() {
	if v.beating != nil {
		v.beating()
		v.beats.Wait()
	}
}

// open opens both kinds of streams for a caller.
func (v *revocation) open(ctx context.Context, name, token string) error {
	caller := newRogue(v.edge.url(), v.s.freshAddr())
	caller.authorization = func() string { return "Bearer " + token }
	v.callers = append(v.callers, caller)
	for kind, session := range map[string]bool{"listen": false, "session": true} {
		l, err := listen(ctx, name+" "+kind, caller, session)
		if err != nil {
			return fmt.Errorf("%s %s: %w", name, kind, err)
		}
		v.all = append(v.all, l)
	}
	return nil
}

// of returns the streams of a caller.
func (v *revocation) of(names ...string) (out []*listener) {
	for _, l := range v.all {
		if name, _, _ := strings.Cut(l.name, " "); slices.Contains(names, name) {
			out = append(out, l)
		}
	}
	return out
}

// await waits until a condition holds of each of some streams.
func await(ctx context.Context, all []*listener, what string, holds func(*listener) bool) error {
	for end := time.Now().Add(2 * slack); ; pause(ctx, 20*time.Millisecond) {
		i := slices.IndexFunc(all, func(l *listener) bool { return !holds(l) })
		switch {
		case i < 0:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			n, last := all[i].told()
			return fmt.Errorf("%s: it is not %s after %v; it was told of %d changes, the last %v ago", all[i].name, what, 2*slack, n, time.Since(last))
		}
	}
}

func (v *revocation) run(ctx context.Context) error {
	audience := v.edge.url()
	opaque := v.lock.Opaque(v.lock.Claims("opaque", audience))
	expires := time.Unix(time.Now().Add(expiresAfter).Unix(), 0)
	for _, c := range []struct{ name, token string }{
		{"keeper", "key-of-keeper"}, {"leaver", "key-of-leaver"}, {"opaque", opaque}, {"deleted", "key-of-keeper"}, {"ended", "key-of-keeper"},
		{"expiring", v.lock.Token("expiring", audience, map[string]any{"exp": expires.Unix()})},
	} {
		if err := v.open(ctx, c.name, c.token); err != nil {
			return err
		}
	}
	v.beat(ctx)
	if err := await(ctx, v.all, "told of a change", func(l *listener) bool { n, _ := l.told(); return n > 0 }); err != nil {
		return err
	}
	if left := time.Until(expires); left < 0 {
		return fmt.Errorf("the streams were opened %v after the token had expired", -left)
	}
	if err := v.deletes(ctx); err != nil {
		return err
	}
	revoked := time.Now()
	v.lock.Revoke(opaque)
	if err := v.writeKeys("keeper"); err != nil {
		return err
	}
	gone := v.of("leaver", "opaque", "expiring")
	if err := await(ctx, gone, "over", (*listener).over); err != nil {
		return err
	}
	pause(ctx, time.Second) // in which the others are told of changes
	var errs []error
	for _, l := range gone {
		since := revoked
		if strings.HasPrefix(l.name, "expiring") {
			since = expires
		}
		if _, last := l.told(); last.After(since.Add(tolerated)) {
			errs = append(errs, fmt.Errorf("%s was told of a change %v after its credentials were good", l.name, last.Sub(since)))
		}
		errs = append(errs, l.returns(ctx))
	}
	return errors.Join(errors.Join(errs...), v.stays(ctx))
}

// deletes ends sessions, by their client and by an operator: their streams end with them, and tell of no change any more.
func (v *revocation) deletes(ctx context.Context) error {
	v.rest()
	pause(ctx, 500*time.Millisecond) // in which what was changed is told
	for _, l := range v.of("deleted", "ended") {
		if l.session == "" {
			continue
		}
		before, _ := l.told()
		var a *answer
		var err error
		if strings.HasPrefix(l.name, "deleted") {
			a, err = l.caller.send(ctx, http.MethodDelete, "", sessionHeader(l.session)...)
		} else {
			operator := newRogue("http://"+v.edge.Admin+"/v1/sessions/"+l.session, "127.0.0.1")
			a, err = operator.send(ctx, http.MethodDelete, "")
			operator.close()
		}
		if err != nil || a.status >= 300 {
			return fmt.Errorf("the session of %s is not deleted: %v, %v", l.name, err, a)
		}
		for range 10 {
			v.holder.pulse.beats()
			pause(ctx, 20*time.Millisecond)
		}
		if err := await(ctx, []*listener{l}, "over", (*listener).over); err != nil {
			return err
		}
		if after, _ := l.told(); after != before {
			return fmt.Errorf("%s was told of %d changes once its session was deleted", l.name, after-before)
		}
		if err := l.returns(ctx); err != nil {
			return err
		}
	}
	v.beat(ctx)
	return nil
}

// returns tries to go on with a stream that is over.
func (l *listener) returns(ctx context.Context) error {
	l.mu.Lock()
	lastID := l.lastID
	l.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	if l.session == "" {
		a, err := l.caller.modern(limited, "subscriptions/listen", "", `,"notifications":{"resourceSubscriptions":["`+l.uri+`"]}`)
		if err != nil || a.status != http.StatusUnauthorized {
			return fmt.Errorf("%s, once it is over, listens again: %v, %v", l.name, err, a)
		}
		return nil
	}
	for _, header := range [][]string{nil, {"Last-Event-ID", lastID}, {"Last-Event-ID", "0"}} {
		a, err := l.caller.send(limited, http.MethodGet, "", append(sessionHeader(l.session), header...)...)
		if err != nil || a.status != http.StatusUnauthorized && a.status != http.StatusNotFound {
			return fmt.Errorf("%s, once it is over, gets its stream again: %v, %v", l.name, err, a)
		}
	}
	return nil
}

// stays checks that the streams of others go on, and that nothing is watched for those who have left.
func (v *revocation) stays(ctx context.Context) error {
	kept := v.of("keeper")
	for _, l := range v.of("deleted", "ended") {
		if l.session == "" {
			kept = append(kept, l) // of the same key, which is good
		}
	}
	now := time.Now()
	err := await(ctx, kept, "told of a change after those of others are over", func(l *listener) bool { _, last := l.told(); return last.After(now) })
	if err != nil {
		return err
	}
	var want []string
	for _, l := range kept {
		want = append(want, l.uri)
	}
	slices.Sort(want)
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		got := v.holder.pulse.watched()
		if slices.Equal(got, want) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%q are watched, want %q", got, want)
		}
	}
}
