package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// passedOn requests the metadata of the authorization server.
func passedOn(a *auth.Authenticator) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", auth.ServerMetadataPath, nil)
	r.Header.Set("Origin", "https://anywhere.example")
	a.ServeHTTP(w, r)
	return w
}

// The document is that of the first issuer, byte for byte; RFC 8414 is tried before OpenID Connect.
func TestServerMetadata(t *testing.T) {
	const own = "{ \"token_endpoint\" : \"https://id.example/a?b=1&c\", \"issuer\":\"https://id.example\",\n\"x-é\":[1.50,1e2,null] }\n"
	serve := func(documents map[string]string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text, there := documents[r.URL.Path]; there {
				_, _ = w.Write([]byte(text))
				return
			}
			http.NotFound(w, r)
		})
	}
	const openID, oauth = "/.well-known/openid-configuration", auth.ServerMetadataPath
	for name, row := range map[string]struct {
		documents map[string]string
		status    int
		body      string
	}{
		"both":               {map[string]string{oauth: own, openID: `{"issuer":"https://id.example"}`}, 200, own},
		"OpenID alone":       {map[string]string{openID: own}, 200, own},
		"none":               {nil, 404, "the authorization server of this server has no metadata\n"},
		"another's":          {map[string]string{oauth: `{"issuer":"https://evil.example"}`}, 503, ""},
		"another's, and own": {map[string]string{oauth: `{"issuer":"https://id.example/"}`, openID: own}, 200, own},
		"no JSON":            {map[string]string{openID: "<html>"}, 503, ""},
		"too large":          {map[string]string{openID: `{"issuer":"https://id.example","x":"` + strings.Repeat("x", 1<<20) + `"}`}, 503, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(issuer.New("https://id.example"))
			second := issuer.New("https://second.example")
			o.Issuers = append(o.Issuers, auth.Issuer{URL: second.URL, ReadKeys: func() ([]byte, error) { return second.Set(), nil }})
			o.Transport = direct{"id.example": serve(row.documents), "second.example": second}
			w := passedOn(newAuth(t, o))
			if w.Code != row.status || row.body != "" && w.Body.String() != row.body || w.Header().Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%d, %v, %.200q", w.Code, w.Header(), w.Body)
			}
			if json := w.Header().Get("Content-Type") == "application/json"; json != (row.status == 200) {
				t.Errorf("%d with %v", w.Code, w.Header())
			}
			if strings.Contains(w.Body.String(), "evil") {
				t.Errorf("another's metadata is shown: %s", w.Body)
			}
		})
	}
	o := options(issuer.New("https://id.example"))
	o.Issuers = nil
	if w := passedOn(newAuth(t, o)); w.Code != 404 {
		t.Errorf("%d without an issuer", w.Code)
	}
	o = remote(issuer.New("https://id.example"))
	for method, want := range map[string]int{"POST": 405, "OPTIONS": 204, "HEAD": 200} {
		w := httptest.NewRecorder()
		newAuth(t, o).ServeHTTP(w, httptest.NewRequest(method, auth.ServerMetadataPath, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", method, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	newAuth(t, o).ServeHTTP(w, httptest.NewRequest("GET", auth.ServerMetadataPath+"/mcp", nil))
	if w.Code != 404 {
		t.Errorf("below it: %d", w.Code)
	}
}

// It is fetched on demand, once for all callers, and again after five minutes, without delaying
// any.
func TestServerMetadataIsRemembered(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.Transport = direct{"id.example": i}
	synctestRun(t, o, func(a *auth.Authenticator) {
		if n := i.Documents.Load(); n != 0 {
			t.Errorf("%d fetches before anybody asks", n)
		}
		i.SetDelay(2 * time.Second)
		var all sync.WaitGroup
		var good atomic.Int64
		for range 50 {
			all.Go(func() {
				if passedOn(a).Code == 200 {
					good.Add(1)
				}
			})
		}
		all.Wait()
		if n := i.Documents.Load(); n != 1 || good.Load() != 50 {
			t.Errorf("%d fetches for 50, of whom %d got it", n, good.Load())
		}
		time.Sleep(5 * time.Minute)
		began := time.Now()
		for range 3 {
			if w := passedOn(a); w.Code != 200 || time.Since(began) > 0 {
				t.Errorf("%d after %v", w.Code, time.Since(began))
			}
		}
		time.Sleep(time.Minute)
		if n := i.Documents.Load(); n != 2 {
			t.Errorf("%d fetches, want another one", n)
		}
	})
}

// While the issuer is unavailable it is asked at intervals, whatever the number of requests, and
// the last document is served for an hour.
func TestServerMetadataOfAnIssuerThatIsDown(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.Transport = direct{"id.example": i}
	synctestRun(t, o, func(a *auth.Authenticator) {
		i.SetUnavailable(true)
		for range 600 { // a minute
			w := passedOn(a)
			seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
			if w.Code != 503 || err != nil || seconds < 1 || seconds > 30 {
				t.Fatalf("%d, %v", w.Code, w.Header())
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := i.Documents.Load(); n < 3 || n > 7 {
			t.Errorf("%d fetches in a minute", n)
		}
		i.SetUnavailable(false)
		time.Sleep(31 * time.Second)
		if w := passedOn(a); w.Code != 200 {
			t.Errorf("%d, the issuer is back", w.Code)
		}
		i.SetUnavailable(true)
		for range 118 {
			time.Sleep(30 * time.Second)
			if w := passedOn(a); w.Code != 200 {
				t.Fatalf("%d within the hour", w.Code)
			}
		}
		time.Sleep(2 * time.Minute)
		if w := passedOn(a); w.Code != 503 {
			t.Errorf("%d after the hour", w.Code)
		}
		i.SetUnavailable(false)
		time.Sleep(31 * time.Second)
		if w := passedOn(a); w.Code != 200 {
			t.Errorf("%d, the issuer is back", w.Code)
		}
		synctest.Wait()
	})
}
