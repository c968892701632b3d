package capability

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/MicahParks/jwkset"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (fn transport) RoundTrip(r *http.Request) (*http.Response, error) { return fn(r) }

// setOf returns a JWK Set with a new key for each id.
func setOf(t *testing.T, ids ...string) string {
	t.Helper()
	var set jwkset.JWKSMarshal
	for _, id := range ids {
		public, _, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		jwk, err := jwkset.NewJWKFromKey(public, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: id}})
		if err != nil {
			t.Fatal(err)
		}
		set.Keys = append(set.Keys, jwk.Marshal())
	}
	raw, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A service without calls for some time also rejects a removed key. While the edge is unreachable,
// only one call at a time waits for it.
func TestKeysThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, asked := setOf(t, "old"), 0
		v := &identities{url: "http://edge/jwks", fetching: make(chan struct{}, 1), client: &http.Client{Timeout: keysTimeout, Transport: transport(func(r *http.Request) (*http.Response, error) {
			if asked++; set == "" {
				<-r.Context().Done()
				return nil, errors.New("it does not answer")
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(set))}, nil
		})}}
		key := func(id string) (known bool, took time.Duration) {
			began := time.Now()
			k, err := v.key(t.Context(), id)
			took = time.Since(began)
			synctest.Wait()
			return k != nil && err == nil, took
		}
		if known, _ := key("old"); !known || asked != 1 {
			t.Fatalf("known %t, asked %d times", known, asked)
		}
		time.Sleep(keysRefresh + time.Second)
		if known, took := key("old"); !known || took != 0 || asked != 2 {
			t.Errorf("while calls come: known %t after %v, asked %d times", known, took, asked)
		}
		set = setOf(t, "new")
		time.Sleep(3 * keysRefresh)
		if known, _ := key("old"); known || asked != 3 {
			t.Errorf("after a pause: known %t, asked %d times", known, asked)
		}
		set = ""
		time.Sleep(3 * keysRefresh)
		for n := range 10 {
			known, took := key("new")
			if !known || took != 0 && n > 0 {
				t.Errorf("while the edge is away: known %t after %v", known, took)
			}
			time.Sleep(2 * keysTimeout)
		}
		time.Sleep(keysKept)
		if known, _ := key("new"); known {
			t.Error("a key is known for ever")
		}
	})
}
