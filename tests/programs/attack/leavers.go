package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

var leaverAttacks = []attack{
	{name: "listens-revoked", what: "streams of callers whose key is taken away, whose token expires or is revoked, or whose session is deleted, while resources change", run: listenRevoked},
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
	caller := v.fleet.rogue(v.s.freshAddr())
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

func (v *revocation) run(ctx context.Context) error {
	audience := v.fleet.url()
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
			operator := v.fleet.admin("/v1/sessions/" + l.session)
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
