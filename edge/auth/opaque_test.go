package auth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// A token that is not opaque is sent to no issuer: JWTs of others, truncated ones, encrypted ones,
// and API keys that were removed from their file.
func TestOnlyOpaqueTokensAreAskedAbout(t *testing.T) {
	i, other := issuer.New("https://id.example"), issuer.New("https://other.example")
	o := asked(i)
	var keys atomic.Pointer[[]auth.APIKey]
	keys.Store(&[]auth.APIKey{{Name: "one", SHA256: sha256.Sum256([]byte("k1"))}, {Name: "two", SHA256: sha256.Sum256([]byte("k2"))}})
	o.ReadAPIKeys = func() ([]auth.APIKey, error) { return *keys.Load(), nil }
	synctestRun(t, o, func(a *auth.Authenticator) {
		if got := status(a, "k1"); got != 200 {
			t.Fatalf("status %d for an API key", got)
		}
		keys.Store(&[]auth.APIKey{{Name: "two", SHA256: sha256.Sum256([]byte("k2"))}})
		time.Sleep(5 * time.Second)
		foreign := other.Token("alice", resource)
		parts := strings.Split(foreign, ".")
		for name, token := range map[string]string{
			"an API key that is gone": "k1", "another issuer's JWT": foreign, "padded": foreign + "==", "cut": parts[0] + "." + parts[1],
			"its header": parts[0] + ".", "spoiled": "x" + foreign, "longer": foreign + ".x", "five parts": foreign + ".x.y", "nothing": "a.b.c",
			"another alphabet": strings.NewReplacer("-", "+", "_", "/").Replace(parts[0]) + "." + parts[1], "a padded header": parts[0] + "=." + parts[1],
		} {
			if got := status(a, token); got != 401 && got != 400 {
				t.Errorf("%s: status %d", name, got)
			}
			if n := i.Questions.Load(); n != 0 {
				t.Fatalf("%s: the issuer was asked", name)
			}
		}
		for _, token := range []string{"opaque", "ory_at_1.2", "a.b.c.d"} {
			before := i.Questions.Load()
			if got := status(a, token); got != 401 || i.Questions.Load() != before+1 {
				t.Errorf("%s: status %d, %d questions", token, got, i.Questions.Load()-before)
			}
		}
	})
}

// An answer about anything but an access token for Bearer is refused.
func TestAnswersOfOtherKinds(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		for name, c := range map[string]struct {
			change claims
			status int
		}{
			"Bearer":                     {claims{"token_type": "Bearer", "typ": "Bearer", "token_use": "access_token"}, 200},
			"bearer":                     {claims{"token_type": "bearer"}, 200},
			"access_token":               {claims{"token_type": "access_token"}, 200},
			"active as a string":         {claims{"active": "true"}, 503},
			"active as a number":         {claims{"active": 1}, 503},
			"active as null":             {claims{"active": nil}, 503},
			"an issuer with a slash":     {claims{"iss": i.URL + "/"}, 401},
			"an issuer of null":          {claims{"iss": nil}, 401},
			"a list of issuers":          {claims{"iss": []string{i.URL}}, 401},
			"an end in a string":         {claims{"exp": "9000000000"}, 401},
			"bound by a certificate":     {claims{"cnf": claims{"x5t#S256": "x"}}, 401},
			"a refresh token":            {claims{"token_type": "refresh_token"}, 401},
			"DPoP":                       {claims{"token_type": "DPoP"}, 401},
			"a type of no string":        {claims{"token_type": 7}, 401},
			"Refresh":                    {claims{"typ": "Refresh"}, 401},
			"ID":                         {claims{"typ": "ID"}, 401},
			"the use of an ID token":     {claims{"token_use": "id"}, 401},
			"the use of a refresh token": {claims{"token_use": "refresh_token"}, 401},
			"a nonce":                    {claims{"nonce": "n"}, 401},
			"events":                     {claims{"events": claims{}}, 401},
			"a subject of null":          {claims{"sub": json.RawMessage("null")}, 401},
			"a subject of no string":     {claims{"sub": 7}, 401},
			"an empty subject":           {claims{"sub": ""}, 401},
			"expired in 1970":            {claims{"exp": 0}, 401},
			"not yet, by far":            {claims{"nbf": 1e19}, 401},
			"until after all time":       {claims{"exp": 1e19}, 200},
		} {
			token := i.Claims("alice", resource)
			for k, v := range c.change {
				token[k] = v
			}
			if got := status(a, i.Opaque(token)); got != c.status {
				t.Errorf("%s: status %d, want %d", name, got, c.status)
			}
		}
	})
}

// The token, and the edge's secret, are sent where the settings say, and not to the target of a
// redirect.
func TestIntrospectionIsNotRedirected(t *testing.T) {
	i, evil := issuer.New("https://id.example"), http.HandlerFunc(nil)
	var leaked atomic.Int64
	evil = func(w http.ResponseWriter, r *http.Request) {
		leaked.Add(1)
		_, _ = fmt.Fprintf(w, `{"active":true,"sub":"admin","aud":%q}`, resource)
	}
	o := asked(i)
	o.Transport = direct{"evil.example": evil, "id.example": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/introspect" {
			http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
			return
		}
		i.ServeHTTP(w, r)
	})}
	synctestRun(t, o, func(a *auth.Authenticator) {
		if got := status(a, "opaque"); got != 503 || leaked.Load() != 0 {
			t.Errorf("status %d, %d requests elsewhere", got, leaked.Load())
		}
	})
}

// The log has a line when the issuer becomes unavailable, and one when it is back.
func TestIntrospectionFailuresAreLogged(t *testing.T) {
	i := issuer.New("https://id.example")
	var log bytes.Buffer
	o := asked(i)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	synctestRun(t, o, func(a *auth.Authenticator) {
		time.Sleep(time.Second)
		for phase, down := range []bool{false, true, false} {
			i.SetUnavailable(down)
			for n := range 10 {
				status(a, fmt.Sprintf("opaque-%d-%d", phase, n))
			}
		}
	})
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "WARN") || !strings.Contains(lines[0], i.URL) || !strings.Contains(lines[1], "INFO") ||
		strings.Contains(log.String(), "opaque-") {
		t.Errorf("the log:\n%s", &log)
	}
}

// One address cannot use all places for introspections.
func TestQuestionsOfOneAddress(t *testing.T) {
	i := issuer.New("https://id.example")
	o := asked(i)
	synctestRun(t, o, func(a *auth.Authenticator) {
		time.Sleep(time.Second)
		i.SetDelay(4 * time.Second)
		ask := func(token, address string) int {
			r := bearer(token)
			r.RemoteAddr = address
			if _, denied := a.Authenticate(r); denied != nil {
				return denied.Status
			}
			return 200
		}
		var work sync.WaitGroup
		for n := range 1000 {
			work.Go(func() { ask(fmt.Sprint("bogus", n), fmt.Sprintf("[2001:db8::%x]:99", n)) })
		}
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		if got := ask(i.Opaque(i.Claims("alice", resource)), "192.0.2.1:99"); got != 200 || time.Since(began) > 4*time.Second {
			t.Errorf("status %d after %v, beside another caller with many", got, time.Since(began))
		}
		work.Wait()
	})
}

// Waiting introspections are bounded, including those whose request has ended: one more of the same
// address is refused at once, and another address's waits.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	i := issuer.New("https://id.example")
	synctestRun(t, asked(i), func(a *auth.Authenticator) {
		i.SetDelay(time.Hour)
		ask := func(ctx context.Context, address, token string) (denied *web.Denial, took time.Duration) {
			r, began := bearer(token).WithContext(ctx), time.Now()
			r.RemoteAddr = address
			_, denied = a.Authenticate(r)
			return denied, time.Since(began)
		}
		leaving, leave := context.WithCancel(context.Background())
		for n := range auth.MaxWaitingOfOne {
			go ask(leaving, "192.0.2.1:1", fmt.Sprint("token", n))
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if denied, took := ask(context.Background(), "192.0.2.1:2", "another"); denied == nil || denied.Status != 503 || took != 0 {
			t.Errorf("of the same address: %+v after %v", denied, took)
		}
		if denied, took := ask(context.Background(), "192.0.2.2:1", "another"); denied == nil || denied.Status != 503 || took == 0 {
			t.Errorf("of another address: %+v after %v", denied, took)
		}
		i.SetDelay(0)
		if denied, _ := ask(context.Background(), "192.0.2.1:1", i.Opaque(i.Claims("alice", resource))); denied != nil {
			t.Errorf("afterwards: %+v", denied)
		}
	})
}
