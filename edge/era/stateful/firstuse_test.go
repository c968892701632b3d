package stateful

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/state"
)

const anyUse = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// inOptional runs a test with optional sessions. Both replicas have the same key and know the same ends.
func inOptional(t *testing.T, o Options, l state.Limits, test func(t *testing.T, w *world)) {
	o.Optional, o.Ended = true, once.NewMemory(maxEnded)
	inLimits(t, o, l, func(t *testing.T, w *world) {
		for _, e := range []*Era{w.a, w.b} {
			if err := e.SealWith(bytes.Repeat([]byte{7}, era.KeySize)); err != nil {
				t.Fatal(err)
			}
		}
		w.perRequest = true
		test(t, w)
	})
}

// records returns the number of sessions in the medium.
func (w *world) records() int {
	w.t.Helper()
	list, _, err := w.store("reader").List(w.t.Context(), "", 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list)
}

func nonce(session string) string {
	id, _, _ := strings.Cut(session, ".")
	return id
}

// An initialize has no record, and counts against no bound, until its id is used.
func TestUnusedIDsHaveNoRecord(t *testing.T) {
	inOptional(t, Options{MaxSessionsPerAddress: 1}, state.Limits{SessionsPerPrincipal: 1}, func(t *testing.T, w *world) {
		w.from = netip.MustParseAddr("192.0.2.1")
		var last string
		for range 10_000 {
			last = w.initialize(v1125)
		}
		if n, held := w.records(), w.a.Held(); n != 0 || held != 0 {
			t.Errorf("%d records and %d copies", n, held)
		}
		w.wantBody(w.post(w.a, last, anyUse), `{"jsonrpc":"2.0","id":1,"result":{}}`)
		if n := w.records(); n != 1 {
			t.Errorf("%d records after the first use", n)
		}
		w.wantKind(w.post(w.a, w.initialize(v1125), anyUse), mcp.KindLimit)
	})
}

// The record has what initialize sent, and the store knows the session by its nonce alone.
func TestFirstUseCreatesTheRecord(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		id := w.initialize(v0618)
		w.wantAccepted(w.post(w.b, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		got, err := w.store("reader").Load(t.Context(), nonce(id), false)
		if err != nil {
			t.Fatal(err)
		}
		s := got.Session
		if s.Version != v0618 || !s.Initialized || !strings.Contains(string(s.ClientInfo), `"name":"c"`) || !strings.Contains(string(s.Capabilities), "sampling") {
			t.Errorf("%+v", s)
		}
		if w.a.counters.SessionsCreated.Load() != 0 || w.b.counters.SessionsCreated.Load() != 1 {
			t.Error("the replica of the first use has not created it")
		}
	})
}

// First uses at two replicas, and several at each, at the same time all succeed, with one record.
func TestFirstUsesAtOnce(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		for range 50 {
			id := w.initialize(v1125)
			var wg sync.WaitGroup
			for i := range 8 {
				e := w.a
				if i%2 == 1 {
					e = w.b
				}
				wg.Go(func() {
					in, x := w.received(id, ""), &client{done: make(chan struct{})}
					defer in.Memory.Release()
					msg, _ := jsonrpc.Parse([]byte(anyUse))
					e.Message(context.Background(), in, msg, x)
					if x.kind() != mcp.KindNone {
						t.Errorf("%s", x.body())
					}
				})
			}
			wg.Wait()
		}
		if n := w.records(); n != 50 {
			t.Errorf("%d records of 50 sessions", n)
		}
	})
}

// After DELETE an id is unknown, at every replica, also if it was used by DELETE alone.
func TestEndedIDsStayEnded(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		for _, used := range []bool{true, false} {
			id := w.initialize(v1125)
			if used {
				w.post(w.a, id, anyUse)
			}
			w.wantAccepted(w.end(w.a, id))
			for _, e := range []*Era{w.a, w.b} {
				w.wantKind(w.post(e, id, anyUse), mcp.KindSessionNotFound)
				w.wantKind(w.post(e, nonce(id), anyUse), mcp.KindSessionNotFound)
				w.wantKind(w.end(e, id), mcp.KindSessionNotFound)
			}
		}
		if n := w.records(); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

// meanwhile has something happen at another replica after a session was found not to have ended here.
type meanwhile struct {
	Ended
	then func()
}

func (x *meanwhile) Spent(ctx context.Context, owner, id string) (bool, error) {
	ended, err := x.Ended.Spent(ctx, owner, id)
	if then := x.then; then != nil {
		x.then = nil
		then()
	}
	return ended, err
}

// A session that ends at another replica while its id is used here is not created again.
func TestEndDuringFirstUse(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		id := w.initialize(v1125)
		w.a.o.Ended = &meanwhile{Ended: w.a.o.Ended, then: func() {
			w.b.End(context.Background(), w.incoming(id), &client{done: make(chan struct{})})
		}}
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindSessionNotFound)
		if n := w.records(); n != 0 {
			t.Errorf("%d records", n)
		}
	})
}

// A session that another replica creates while its id is used here is the same session.
func TestCreatedDuringFirstUse(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		id := w.initialize(v1125)
		w.a.o.Ended = &meanwhile{Ended: w.a.o.Ended, then: func() {
			in := w.incoming(id)
			msg, _ := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`))
			w.b.Message(context.Background(), in, msg, &client{done: make(chan struct{})})
		}}
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindNone)
		if s := w.a.sessions.get(nonce(id)); s == nil || s.rec.Load().LogLevel != mcp.LogError {
			t.Error("the other replica's session is not used")
		}
		if a, b := w.a.counters.SessionsCreated.Load(), w.b.counters.SessionsCreated.Load(); a != 0 || b != 1 {
			t.Errorf("%d and %d created", a, b)
		}
	})
}

// An end that cannot be remembered is refused: the id could create the session again.
func TestEndsAreBounded(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		for _, e := range []*Era{w.a, w.b} {
			e.o.Ended = failing{once.ErrFull}
		}
		id := w.initialize(v1125)
		w.post(w.a, id, anyUse)
		w.wantKind(w.end(w.a, id), mcp.KindLimit)
		w.a.o.Ended = failing{state.ErrUnavailable}
		w.wantKind(w.end(w.a, id), mcp.KindStateUnavailable)
		w.wantKind(w.post(w.a, w.initialize(v1125), anyUse), mcp.KindStateUnavailable)
		if n := w.records(); n != 1 {
			t.Errorf("%d records", n)
		}
		after(firstUseWithin + 2*clockSkew)
		w.wantAccepted(w.end(w.a, id))
	})
}

type failing struct{ err error }

func (f failing) Spend(context.Context, string, string, time.Duration, int) (bool, error) {
	return false, f.err
}
func (f failing) Spent(context.Context, string, string) (bool, error) {
	if errors.Is(f.err, once.ErrFull) {
		return false, nil
	}
	return false, f.err
}

// An id is of no use when it is too old, to another principal, in another set, with another nonce, or changed.
func TestForeignIDs(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		ann, bob := mcp.Principal{Subject: "ann", Issuer: "https://i"}, mcp.Principal{Subject: "bob", Issuer: "https://i"}
		w.who = ann
		id, other := w.initialize(v1125), w.initialize(v1125)
		seal := strings.TrimPrefix(id, nonce(id)+".")
		for name, foreign := range map[string]string{
			"no seal": nonce(id), "empty seal": nonce(id) + ".", "no base64url": nonce(id) + ".%", "short": nonce(id) + ".AAAA",
			"another nonce": nonce(other) + "." + seal, "no nonce": "." + seal, "more": id + "AAAA", "a dot": id + ".",
			"changed": id[:len(id)-8] + "AAAAAAAA", "line break": id + "\n", "long": nonce(id) + "." + strings.Repeat("A", 4096),
		} {
			if got := w.post(w.b, foreign, anyUse).kind(); got != mcp.KindSessionNotFound {
				t.Errorf("%s: kind %d", name, got)
			}
		}
		for _, who := range []mcp.Principal{bob, {}, {Subject: "ann", Issuer: "https://j"}, {Subject: "ann", Issuer: "https://i", SubjectIsClient: true}} {
			w.who = who
			w.wantKind(w.post(w.a, id, anyUse), mcp.KindSessionNotFound)
			w.wantKind(w.end(w.a, id), mcp.KindSessionNotFound)
		}
		w.who, w.set = ann, "sums"
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindSessionNotFound)
		w.set = ""
		if n := w.records(); n != 0 {
			t.Errorf("%d records", n)
		}
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindNone)
		w.who = bob
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindSessionNotFound)
		w.who = ann
		after(firstUseWithin + time.Second)
		w.wantKind(w.post(w.a, other, anyUse), mcp.KindSessionNotFound)
		w.wantKind(w.post(w.a, id, anyUse), mcp.KindNone) // It has its record.
	})
}

// A text without a nonce is no id, and the store is not asked: the keys of a session without an id are those of no shard.
func TestIDsHaveNonces(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		id := w.initialize(v1125)
		seal := strings.TrimPrefix(id, nonce(id))
		w.faults.set(true, false)
		for _, id := range []string{".", "..", ".A", seal} {
			w.wantKind(w.post(w.a, id, anyUse), mcp.KindSessionNotFound)
			w.wantKind(w.end(w.a, id), mcp.KindSessionNotFound)
		}
	})
}

// An end is remembered for as long as any replica could accept the id, also by one whose sessions live shorter, as while a setting is
// rolled out.
func TestEndsAreRememberedForAllReplicas(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		o := w.a.o
		o.SessionTTL = time.Second
		c := w.era("c", o, nil)
		defer c.Close()
		if err := c.SealWith(bytes.Repeat([]byte{7}, era.KeySize)); err != nil {
			t.Fatal(err)
		}
		id := w.initialize(v1125)
		w.wantAccepted(w.end(c, id))
		after(firstUseWithin - time.Second)
		w.wantKind(w.post(w.b, id, anyUse), mcp.KindSessionNotFound)
	})
}

// The end of a session that got its record at its beginning, as one whose transport remembers it, needs not be remembered.
func TestOtherEndsAreNotRemembered(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		w.a.o.Ended = failing{once.ErrFull}
		w.perRequest = false
		w.wantAccepted(w.end(w.a, w.initialize(v1125)))
	})
}

// An id is refused from a replica whose clock is far ahead, and by one with other keys. A replaced key still opens.
func TestForeignKeys(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		older, newer := bytes.Repeat([]byte{7}, era.KeySize), bytes.Repeat([]byte{8}, era.KeySize)
		id := w.initialize(v1125)
		if err := w.b.SealWith(newer); err != nil {
			t.Fatal(err)
		}
		w.wantKind(w.post(w.b, id, anyUse), mcp.KindSessionNotFound)
		if _, err := w.b.lookUp(t.Context(), w.incoming(id), nonce(id), strings.TrimPrefix(id, nonce(id)+".")); !strings.Contains(err.Reason, "redis.seal-keys") {
			t.Errorf("the reason is %q", err.Reason)
		}
		if err := w.b.SealWith(newer, older); err != nil {
			t.Fatal(err)
		}
		w.wantKind(w.post(w.b, id, anyUse), mcp.KindNone)
		ahead, err := sealID(w.a.ids, &state.Session{ID: "AHEAD", Version: v1125, Created: time.Now().Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		w.wantKind(w.post(w.a, ahead, anyUse), mcp.KindSessionNotFound)
		if err := w.a.SealWith([]byte("short")); err == nil {
			t.Error("a short key is accepted")
		}
	})
}

// An id whose session is described by more than a header may have gets its record at once, and is as without Optional.
func TestLongIDsHaveRecords(t *testing.T) {
	inOptional(t, Options{MaxSessionsPerAddress: 1}, state.Limits{}, func(t *testing.T, w *world) {
		w.from = netip.MustParseAddr("192.0.2.1")
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"experimental":{"x":{"y":%q}}},"clientInfo":{"name":"c","version":"1"}}}`,
			v1125, strings.Repeat("z", maxSealedID))
		x := w.post(w.a, "", body)
		if x.session == "" || strings.Contains(x.session, ".") || w.records() != 1 {
			t.Fatalf("%q, %d records: %s", x.session, w.records(), x.body())
		}
		w.wantKind(w.post(w.b, x.session, anyUse), mcp.KindNone)
		w.wantKind(w.post(w.a, "", body), mcp.KindLimit) // of its address
	})
}

// Where the transport remembers the session, and where sessions are required, initialize creates the record.
func TestSessionsRequired(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		w.perRequest = false
		if id := w.initialize(v1125); strings.Contains(id, ".") || w.records() != 1 {
			t.Errorf("%q, %d records", id, w.records())
		}
	})
	inWorld(t, Options{}, func(t *testing.T, w *world) {
		w.perRequest = true
		id := w.initialize(v1125)
		if strings.Contains(id, ".") || w.records() != 1 {
			t.Errorf("%q, %d records", id, w.records())
		}
		w.wantKind(w.post(w.a, id+".AAAA", anyUse), mcp.KindSessionNotFound)
		if err := w.a.SealWith(nil); err != nil || w.a.ids != nil {
			t.Errorf("sealed: %v", err)
		}
	})
}

// A first use that waits for another ends with its request.
func TestFirstUseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var uses firstUses
		end, err := uses.begin(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { _, err := uses.begin(ctx, "a"); failed <- err }()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		end()
		again, err := uses.begin(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		again()
		for id := range uses.current.Range {
			t.Errorf("%v is still used", id)
		}
	})
}

// A sealed id shows nothing of what it seals.
func TestSealedIDsAreOpaque(t *testing.T) {
	inOptional(t, Options{}, state.Limits{}, func(t *testing.T, w *world) {
		id := w.initialize(v1125)
		b, err := openID(w.a.ids, nonce(id), strings.TrimPrefix(id, nonce(id)+"."))
		if err != nil || b.Version != v1125 {
			t.Fatalf("%+v, %v", b, err)
		}
		plain, _ := json.Marshal(b)
		if len(id) > maxSealedID || strings.Contains(id, v1125) || !bytes.Contains(plain, []byte("elicitation")) {
			t.Errorf("%d bytes: %s of %s", len(id), id, plain)
		}
	})
}

// The seal of an id is base64url of key id (4 bytes) · ciphertext and tag, in every release.
func TestEncodingOfIDs(t *testing.T) {
	key := bytes.Repeat([]byte{5}, era.KeySize)
	own, err := hkdf.Key(sha256.New, key, []byte("NONCE"), "mcpedge session id", 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(key)
	seal := gcm.Seal(id[:4:4], make([]byte, gcm.NonceSize()), []byte(`{"v":"2025-11-25","s":"set"}`), []byte("mcpedge session id"))
	if b, err := openID(era.Keys{key}, "NONCE", base64.RawURLEncoding.EncodeToString(seal)); err != nil || b.Version != v1125 || b.Set != "set" {
		t.Errorf("%+v: %v", b, err)
	}
}
