package auth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

const resource = "https://mcp.example.com"

// direct answers requests without a network, by host.
type direct map[string]http.Handler

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	h := d[r.URL.Host]
	if h == nil {
		return nil, errors.New("no such host")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// options returns the options of an edge with one issuer whose keys are in a file.
func options(i *issuer.Issuer) auth.Options {
	return auth.Options{
		Resource: resource, Endpoints: []string{"/mcp", "/sse"}, Logger: slog.New(slog.DiscardHandler),
		Issuers: []auth.Issuer{{URL: i.URL, Skew: time.Minute, ReadKeys: func() ([]byte, error) { return i.Set(), nil }}},
	}
}

func newAuth(t testing.TB, o auth.Options) *auth.Authenticator {
	t.Helper()
	a, err := auth.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func request(header ...string) *http.Request {
	r := httptest.NewRequest("POST", "/mcp", nil)
	for _, h := range header {
		r.Header.Add("Authorization", h)
	}
	return r
}

func bearer(token string) *http.Request { return request("Bearer " + token) }

type claims = map[string]any

// Every kind of token with its result: the principal, or the status and error of the denial.
func TestTokens(t *testing.T) {
	i := issuer.New("https://id.example")
	other := issuer.New("https://other.example")
	second := issuer.New("https://second.example")
	o := options(i)
	o.Issuers = append(o.Issuers, auth.Issuer{URL: second.URL, ReadKeys: func() ([]byte, error) { return second.Set(), nil }, Audiences: []string{"00000003-0000"}})
	key := "a-key-of-a-machine+/="
	expired := sha256.Sum256([]byte("old"))
	o.ReadAPIKeys = func() ([]auth.APIKey, error) {
		return []auth.APIKey{
			{Name: "ci", SHA256: sha256.Sum256([]byte(key)), Scopes: []string{"mcp:read"}, Roles: []string{"machine"}},
			{Name: "old", SHA256: expired, Expires: time.Now().Add(-time.Second)},
		}, nil
	}
	a := newAuth(t, o)
	sign := func(header map[string]any, changes ...claims) string {
		c := i.Claims("alice", resource+"/mcp")
		for _, change := range changes {
			for k, v := range change {
				c[k] = v
			}
		}
		return i.Sign(c, header)
	}
	token := func(changes ...claims) string { return i.Token("alice", resource+"/mcp", changes...) }
	good := token()
	public, err := x509.MarshalPKIXPublicKey(i.Newest().Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, i.Claims("alice", resource))
	hmac.Header["kid"] = i.Newest().ID
	confused, err := hmac.SignedString(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, i.Claims("alice", resource)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	forged := other.Newest()
	forged.ID = i.Newest().ID
	var keys struct {
		Keys []claims `json:"keys"`
	}
	if err := json.Unmarshal(other.Set(), &keys); err != nil {
		t.Fatal(err)
	}
	enclosed := claims{"jwk": keys.Keys[0], "jku": "https://other.example/jwks", "x5u": "https://other.example/x5u"}
	unnamed := maps.Clone(enclosed)
	unnamed["kid"] = nil
	in := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	null := json.RawMessage("null")
	raw := func(header, claims string) string { return i.Newest().SignText(header, claims) }
	head := `{"alg":"RS256","kid":"` + i.Newest().ID + `"}`
	text, err := json.Marshal(i.Claims("alice", resource))
	if err != nil {
		t.Fatal(err)
	}
	body := string(text)
	alice := mcp.Principal{Issuer: i.URL, Subject: "alice", Client: "a-client", Scopes: []string{"mcp:read", "mcp:write"}}
	bob := alice
	bob.Roles = []string{"admin", "ops"}
	for name, c := range map[string]struct {
		r      *http.Request
		who    mcp.Principal
		status int
		error  string
	}{
		"good":                        {bearer(good), alice, 0, ""},
		"again, from memory":          {bearer(good), alice, 0, ""},
		"lower case scheme":           {request("bearer " + good), alice, 0, ""},
		"several audiences":           {bearer(token(claims{"aud": []string{"https://x.example", resource}})), alice, 0, ""},
		"audience spelled otherwise":  {bearer(token(claims{"aud": "HTTPS://MCP.example.com:443/mcp/"})), alice, 0, ""},
		"audience of the SSE address": {bearer(token(claims{"aud": resource + "/sse"})), alice, 0, ""},
		"at+jwt":                      {bearer(sign(claims{"typ": "application/at+jwt"})), alice, 0, ""},
		"no typ":                      {bearer(sign(claims{"typ": nil})), alice, 0, ""},
		"no kid":                      {bearer(sign(claims{"kid": nil})), alice, 0, ""},
		"expired within the skew":     {bearer(token(claims{"exp": in(-30 * time.Second)})), alice, 0, ""},
		"early within the skew":       {bearer(token(claims{"nbf": in(30 * time.Second)})), alice, 0, ""},
		"scopes in an array":          {bearer(token(claims{"scope": nil, "scp": []string{"mcp:read", "mcp:write"}})), alice, 0, ""},
		"roles of everywhere": {bearer(token(claims{
			"roles": []string{"admin"}, "realm_access": claims{"roles": []any{"ops", "admin"}}, "groups": []string{"team a"},
		})), bob, 0, ""},
		"a client without a user": {bearer(token(claims{"sub": nil})), mcp.Principal{Issuer: i.URL, Subject: "a-client", SubjectIsClient: true, Client: "a-client", Scopes: alice.Scopes}, 0, ""},
		"another issuer's alice": {bearer(second.Token("alice", "00000003-0000")), mcp.Principal{
			Issuer: second.URL, Subject: "alice", Client: "a-client", Scopes: alice.Scopes,
		}, 0, ""},
		"API key": {bearer(key), mcp.Principal{Issuer: auth.APIKeyIssuer, Subject: "ci", Scopes: []string{"mcp:read"}, Roles: []string{"machine"}}, 0, ""},

		"none":                            {request(), mcp.Principal{}, 401, ""},
		"another scheme":                  {request("Basic YTpi"), mcp.Principal{}, 401, ""},
		"in the query":                    {httptest.NewRequest("POST", "/mcp?access_token="+good, nil), mcp.Principal{}, 401, ""},
		"empty header":                    {request(""), mcp.Principal{}, 400, "invalid_request"},
		"no token":                        {request("Bearer "), mcp.Principal{}, 400, "invalid_request"},
		"a space in it":                   {bearer(good + " x"), mcp.Principal{}, 400, "invalid_request"},
		"two headers":                     {request("Bearer "+good, "Bearer "+good), mcp.Principal{}, 400, "invalid_request"},
		"nothing but padding":             {bearer("=="), mcp.Principal{}, 400, "invalid_request"},
		"no JWT":                          {bearer("opaque"), mcp.Principal{}, 401, "invalid_token"},
		"three parts of nothing":          {bearer("a.b.c"), mcp.Principal{}, 401, "invalid_token"},
		"encrypted":                       {bearer("a.b.c.d.e"), mcp.Principal{}, 401, "invalid_token"},
		"too large":                       {bearer(strings.Repeat("x", 16<<10+1)), mcp.Principal{}, 401, "invalid_token"},
		"wrong signature":                 {bearer(good[:len(good)-6] + "AAAAAA"), mcp.Principal{}, 401, "invalid_token"},
		"changed claims":                  {bearer(exchange(good, token(claims{"sub": "bob"}))), mcp.Principal{}, 401, "invalid_token"},
		"alg none":                        {bearer(unsigned), mcp.Principal{}, 401, "invalid_token"},
		"HMAC with the public key":        {bearer(confused), mcp.Principal{}, 401, "invalid_token"},
		"algorithm not allowed":           {bearer(sign(claims{"alg": "RS512"})), mcp.Principal{}, 401, "invalid_token"},
		"unknown kid":                     {bearer(sign(claims{"kid": "unheard of"})), mcp.Principal{}, 401, "invalid_token"},
		"another's key under its kid":     {bearer(forged.Sign(i.Claims("alice", resource), nil)), mcp.Principal{}, 401, "invalid_token"},
		"another's key in its header":     {bearer(forged.Sign(i.Claims("alice", resource), enclosed)), mcp.Principal{}, 401, "invalid_token"},
		"another's key, no kid":           {bearer(forged.Sign(i.Claims("alice", resource), unnamed)), mcp.Principal{}, 401, "invalid_token"},
		"unknown issuer":                  {bearer(other.Token("alice", resource)), mcp.Principal{}, 401, "invalid_token"},
		"no issuer":                       {bearer(token(claims{"iss": ""})), mcp.Principal{}, 401, "invalid_token"},
		"the issuer, with a slash":        {bearer(token(claims{"iss": i.URL + "/"})), mcp.Principal{}, 401, "invalid_token"},
		"a list of issuers":               {bearer(token(claims{"iss": []string{i.URL}})), mcp.Principal{}, 401, "invalid_token"},
		"crit":                            {bearer(sign(claims{"crit": []string{"x"}, "x": 1})), mcp.Principal{}, 401, "invalid_token"},
		"logout token":                    {bearer(sign(claims{"typ": "logout+jwt"})), mcp.Principal{}, 401, "invalid_token"},
		"ID token by its hash":            {bearer(token(claims{"at_hash": "x"})), mcp.Principal{}, 401, "invalid_token"},
		"ID token by its code":            {bearer(token(claims{"c_hash": "x"})), mcp.Principal{}, 401, "invalid_token"},
		"ID token by its type":            {bearer(token(claims{"typ": "ID"})), mcp.Principal{}, 401, "invalid_token"},
		"ID token by its use":             {bearer(token(claims{"token_use": "id"})), mcp.Principal{}, 401, "invalid_token"},
		"wrong audience":                  {bearer(token(claims{"aud": "https://other.example/mcp"})), mcp.Principal{}, 401, "invalid_token"},
		"an audience that begins like it": {bearer(token(claims{"aud": resource + ".evil.example"})), mcp.Principal{}, 401, "invalid_token"},
		"no audience":                     {bearer(token(claims{"aud": nil})), mcp.Principal{}, 401, "invalid_token"},
		"an audience that is an object":   {bearer(token(claims{"aud": claims{"0": resource}})), mcp.Principal{}, 401, "invalid_token"},
		"audiences, one of no string":     {bearer(token(claims{"aud": []any{resource, 7}})), mcp.Principal{}, 401, "invalid_token"},
		"an audience in a list of lists":  {bearer(token(claims{"aud": []any{[]string{resource}}})), mcp.Principal{}, 401, "invalid_token"},
		"two audiences in one text":       {bearer(token(claims{"aud": "x " + resource})), mcp.Principal{}, 401, "invalid_token"},
		"the other issuer's audience":     {bearer(token(claims{"aud": "00000003-0000"})), mcp.Principal{}, 401, "invalid_token"},
		"expired":                         {bearer(token(claims{"exp": in(-61 * time.Second)})), mcp.Principal{}, 401, "invalid_token"},
		"without an end":                  {bearer(token(claims{"exp": nil})), mcp.Principal{}, 401, "invalid_token"},
		"an end that is none":             {bearer(token(claims{"exp": "tomorrow"})), mcp.Principal{}, 401, "invalid_token"},
		"an end in a string":              {bearer(token(claims{"exp": fmt.Sprint(in(time.Hour))})), mcp.Principal{}, 401, "invalid_token"},
		"an end that is null":             {bearer(token(claims{"exp": null})), mcp.Principal{}, 401, "invalid_token"},
		"an end beyond a double":          {bearer(raw(head, strings.Replace(body, `"exp":`, `"exp":1e400,"x":`, 1))), mcp.Principal{}, 401, "invalid_token"},
		"not yet":                         {bearer(token(claims{"nbf": in(2 * time.Minute)})), mcp.Principal{}, 401, "invalid_token"},
		"cnf under Bearer":                {bearer(token(claims{"cnf": claims{"jkt": "x"}})), mcp.Principal{}, 401, "invalid_token"},
		"no subject":                      {bearer(token(claims{"sub": "", "client_id": nil})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of controls":           {bearer(token(claims{"sub": "a\x00b"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of no character":       {bearer(token(claims{"sub": "a\ufffd"})), mcp.Principal{}, 401, "invalid_token"},
		"a long subject":                  {bearer(token(claims{"sub": strings.Repeat("a", 1025)})), mcp.Principal{}, 401, "invalid_token"},
		"names in other case":             {bearer(token(claims{"sub": nil, "client_id": nil, "SUB": "alice"})), mcp.Principal{}, 401, "invalid_token"},
		"expired API key":                 {bearer("old"), mcp.Principal{}, 401, "invalid_token"},

		// A subject claim that is not a valid name is refused, and the next claim is not used.
		"a subject that is a number":    {bearer(token(claims{"sub": 7})), mcp.Principal{}, 401, "invalid_token"},
		"a subject that is null":        {bearer(token(claims{"sub": null})), mcp.Principal{}, 401, "invalid_token"},
		"a subject that is empty":       {bearer(token(claims{"sub": ""})), mcp.Principal{}, 401, "invalid_token"},
		"a subject that is a list":      {bearer(token(claims{"sub": []string{"alice"}})), mcp.Principal{}, 401, "invalid_token"},
		"a client that is null":         {bearer(token(claims{"sub": nil, "client_id": null, "azp": "other"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of C1":               {bearer(token(claims{"sub": "a\u0085b"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of two lines":        {bearer(token(claims{"sub": "a\u2028b"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of two paragraphs":   {bearer(token(claims{"sub": "a\u2029b"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject written backwards":   {bearer(token(claims{"sub": "a\u202eb"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject of no width":         {bearer(token(claims{"sub": "a\u200bb"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject that ends in space":  {bearer(token(claims{"sub": "alice "})), mcp.Principal{}, 401, "invalid_token"},
		"a subject with a wide space":   {bearer(token(claims{"sub": "a\u3000b"})), mcp.Principal{}, 401, "invalid_token"},
		"a subject with an isolate":     {bearer(token(claims{"sub": "a\u2066b"})), mcp.Principal{}, 401, "invalid_token"},
		"a logout token by its events":  {bearer(token(claims{"events": claims{"http://schemas.openid.net/event/backchannel-logout": claims{}}})), mcp.Principal{}, 401, "invalid_token"},
		"an ID token by its nonce":      {bearer(token(claims{"nonce": "n"})), mcp.Principal{}, 401, "invalid_token"},
		"an ID token by its state":      {bearer(token(claims{"s_hash": "n"})), mcp.Principal{}, 401, "invalid_token"},
		"a refresh token by its type":   {bearer(token(claims{"typ": "Refresh"})), mcp.Principal{}, 401, "invalid_token"},
		"an offline token by its type":  {bearer(token(claims{"typ": "Offline"})), mcp.Principal{}, 401, "invalid_token"},
		"a logout token by its type":    {bearer(token(claims{"typ": "Logout"})), mcp.Principal{}, 401, "invalid_token"},
		"a type in lower case":          {bearer(token(claims{"typ": "id"})), mcp.Principal{}, 401, "invalid_token"},
		"a type that is not a string":   {bearer(token(claims{"typ": 7})), mcp.Principal{}, 401, "invalid_token"},
		"a refresh token by its use":    {bearer(token(claims{"token_use": "refresh"})), mcp.Principal{}, 401, "invalid_token"},
		"Keycloak's access token":       {bearer(token(claims{"typ": "Bearer"})), alice, 0, ""},
		"Cognito's access token":        {bearer(token(claims{"token_use": "access"})), alice, 0, ""},
		"a kid that is not a string":    {bearer(sign(claims{"kid": 7})), mcp.Principal{}, 401, "invalid_token"},
		"a kid that is null":            {bearer(sign(claims{"kid": null})), mcp.Principal{}, 401, "invalid_token"},
		"a header type of no string":    {bearer(sign(claims{"typ": 7})), mcp.Principal{}, 401, "invalid_token"},
		"b64":                           {bearer(sign(claims{"b64": false})), mcp.Principal{}, 401, "invalid_token"},
		"two algorithms":                {bearer(raw(`{"alg":"RS256","alg":"RS256","kid":"`+i.Newest().ID+`"}`, body)), mcp.Principal{}, 401, "invalid_token"},
		"two subjects":                  {bearer(raw(head, `{"sub":"bob",`+body[1:])), mcp.Principal{}, 401, "invalid_token"},
		"two subjects, one escaped":     {bearer(raw(head, `{"s\u0075b":"bob",`+body[1:])), mcp.Principal{}, 401, "invalid_token"},
		"two of a member below":         {bearer(raw(head, `{"realm_access":{"roles":["a"],"roles":["b"]},`+body[1:])), mcp.Principal{}, 401, "invalid_token"},
		"a role that is no UTF-8":       {bearer(raw(head, "{\"roles\":[\"a\xff\"],"+body[1:])), mcp.Principal{}, 401, "invalid_token"},
		"a header that is no UTF-8":     {bearer(raw("{\"x\":\"\xff\","+head[1:], body)), mcp.Principal{}, 401, "invalid_token"},
		"one of each":                   {bearer(raw(head, body)), alice, 0, ""},
		"not before a time of no clock": {bearer(token(claims{"nbf": 1e19})), mcp.Principal{}, 401, "invalid_token"},
		"not before the end of time":    {bearer(token(claims{"nbf": 1e300})), mcp.Principal{}, 401, "invalid_token"},
		"expired before all time":       {bearer(token(claims{"exp": -1e300})), mcp.Principal{}, 401, "invalid_token"},
		"expired in 1970":               {bearer(token(claims{"exp": 0})), mcp.Principal{}, 401, "invalid_token"},
		"not before a string":           {bearer(token(claims{"nbf": "0"})), mcp.Principal{}, 401, "invalid_token"},
		"two tokens in one header":      {bearer(good + ", Bearer " + good), mcp.Principal{}, 400, "invalid_request"},
		"API key in another case":       {bearer(strings.ToUpper(key)), mcp.Principal{}, 401, "invalid_token"},
		"API key and padding":           {bearer(key + "="), mcp.Principal{}, 401, "invalid_token"},
		"a tab":                         {request("Bearer\t" + good), mcp.Principal{}, 400, "invalid_request"},
		"a tab and nothing":             {request("bearer\t"), mcp.Principal{}, 400, "invalid_request"},
		"in the query, escaped":         {httptest.NewRequest("POST", "/mcp?access%5ftoken="+good, nil), mcp.Principal{}, 401, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, denied := a.Authenticate(c.r)
			checkDenial(t, denied, c.status, c.error)
			if (got.Issuer != "") != (len(got.TokenID) == 64) {
				t.Errorf("the hash of the token's id, or of the API key: %q", got.TokenID)
			}
			got.Until, got.TokenID = time.Time{}, ""
			if diff := cmp.Diff(c.who, got); diff != "" {
				t.Errorf("the principal: -want +got\n%s", diff)
			}
		})
	}
	both := request("Bearer " + good)
	both.URL.RawQuery = "access_token=" + good
	_, denied := a.Authenticate(both)
	checkDenial(t, denied, 400, "invalid_request")
}

// exchange puts the claims of one token into another.
func exchange(signed, other string) string {
	a, b := strings.Split(signed, "."), strings.Split(other, ".")
	return a[0] + "." + b[1] + "." + a[2]
}

func checkDenial(t *testing.T, d *web.Denial, status int, failure string) {
	t.Helper()
	if status == 0 {
		if d != nil {
			t.Fatalf("it was refused: %+v", d)
		}
		return
	}
	if d == nil {
		t.Fatal("it was accepted")
	}
	want := "Bearer "
	if failure != "" {
		want += `error="` + failure + `", error_description="`
	}
	if d.Status != status || len(d.Challenges) != 1 || !strings.HasPrefix(d.Challenges[0], want) ||
		!strings.HasSuffix(d.Challenges[0], `resource_metadata="`+resource+`/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("status %d, challenges %q; want %d, %q", d.Status, d.Challenges, status, want)
	}
	if (failure == "") == strings.Contains(d.Challenges[0], "error") {
		t.Errorf("the challenge is %s", d.Challenges[0])
	}
}

// A principal has its actor, and of the other claims those for backends, unchanged.
func TestActorAndClaims(t *testing.T) {
	i := issuer.New("https://id.example")
	o := asked(i)
	o.Claims = []string{"tenant", "org.id", "limits", "a.b", "none"}
	extra := claims{
		"act": claims{"sub": "agent", "act": claims{"sub": "older"}}, "tenant": "t1", "org": claims{"id": json.RawMessage("12345678901234567890")},
		"limits": []any{1, "x"}, "a.b": nil, "secret": "s",
	}
	want := map[string]json.RawMessage{"tenant": []byte(`"t1"`), "org.id": []byte("12345678901234567890"), "limits": []byte(`[1,"x"]`)}
	synctestRun(t, o, func(a *auth.Authenticator) {
		opaque := i.Claims("alice", resource)
		maps.Copy(opaque, extra)
		delete(opaque, "a.b")
		for name, token := range map[string]string{"JWT": i.Token("alice", resource, extra), "opaque": i.Opaque(opaque)} {
			p, denied := a.Authenticate(bearer(token))
			if denied != nil {
				t.Fatal(denied)
			}
			if diff := cmp.Diff(want, p.Forwarded); diff != "" || p.Actor != "agent" {
				t.Errorf("%s: actor %q, claims -want +got\n%s", name, p.Actor, diff)
			}
		}
		if p, denied := a.Authenticate(bearer(i.Token("alice", resource, claims{"act": claims{"sub": "agent", "iss": i.URL}}))); denied != nil || p.Actor != "agent" {
			t.Errorf("an actor of the same issuer: %q, %+v", p.Actor, denied)
		}
		for name, change := range map[string]claims{
			"an actor that is not an object": {"act": "agent"}, "an actor without a name": {"act": claims{}}, "an actor of null": {"act": json.RawMessage("null")},
			"an actor of controls": {"act": claims{"sub": "a\nb"}}, "an actor of another issuer": {"act": claims{"sub": "agent", "iss": "https://other.example"}},
			"an actor of no issuer": {"act": claims{"sub": "agent", "iss": 7}}, "a claim that is too long": {"tenant": strings.Repeat("x", 5000)},
		} {
			if got := status(a, i.Token("alice", resource, change)); got != 401 {
				t.Errorf("%s: status %d", name, got)
			}
		}
	})
}

// A principal's credentials expire with the token plus the skew, or with the API key.
func TestUntil(t *testing.T) {
	i := issuer.New("https://id.example")
	end := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	p, denied := newAuth(t, options(i)).Authenticate(bearer(i.Token("alice", resource, claims{"exp": end.Unix()})))
	if denied != nil || !p.Until.Equal(end.Add(time.Minute)) {
		t.Errorf("until %v, want %v; %+v", p.Until, end.Add(time.Minute), denied)
	}
}

// Times out of range are limited: a token is not valid for ever, and every stream ends, although a
// number overflows.
func TestTimesBeyondAll(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.ReadAPIKeys = func() ([]auth.APIKey, error) {
		return []auth.APIKey{{Name: "ci", SHA256: sha256.Sum256([]byte("key")), Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}, nil
	}
	a := newAuth(t, o)
	for _, token := range []string{
		"key", i.Token("alice", resource, claims{"exp": 9_300_000_000}), i.Token("alice", resource, claims{"exp": 1e19}),
		i.Token("alice", resource, claims{"exp": 1e300}),
	} {
		p, denied := a.Authenticate(bearer(token))
		if denied != nil || p.Until.Before(time.Now()) || !time.Unix(0, p.Until.UnixNano()).Equal(p.Until) {
			t.Errorf("until %v, %+v", p.Until, denied)
		}
	}
}

// A token that names no key is verified with few keys.
func TestTokensWithoutKeyID(t *testing.T) {
	i := issuer.New("https://id.example")
	last := i.Newest()
	for n := range 20 {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		i.Use(issuer.Key{ID: fmt.Sprint("ed", n), Method: jwt.SigningMethodEdDSA, Private: private})
	}
	first := i.Newest()
	a := newAuth(t, options(i))
	without := func(k issuer.Key) string { return k.Sign(i.Claims("alice", resource), claims{"kid": nil}) }
	for name, k := range map[string]issuer.Key{"the newest": first, "the only one that suits": last} {
		if _, denied := a.Authenticate(bearer(without(k))); denied != nil {
			t.Errorf("%s: %+v", name, denied)
		}
	}
	oldest := i.Keys()[len(i.Keys())-2]
	if _, denied := a.Authenticate(bearer(oldest.Sign(i.Claims("alice", resource), nil))); denied != nil {
		t.Errorf("the oldest, by its name: %+v", denied)
	}
	_, denied := a.Authenticate(bearer(without(oldest)))
	checkDenial(t, denied, 401, "invalid_token")
}

// Keys of every type verify the algorithms that match them, and no others.
func TestAlgorithms(t *testing.T) {
	p256, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	for name, k := range map[string]issuer.Key{
		"PS256": {ID: "1", Method: jwt.SigningMethodPS256, Private: issuer.New("x").Newest().Private},
		"ES256": {ID: "2", Method: jwt.SigningMethodES256, Private: p256},
		"ES384": {ID: "3", Method: jwt.SigningMethodES384, Private: p384},
		"EdDSA": {ID: "4", Method: jwt.SigningMethodEdDSA, Private: ed},
	} {
		t.Run(name, func(t *testing.T) {
			i := issuer.New("https://id.example")
			i.Use(k)
			o := options(i)
			if _, denied := newAuth(t, o).Authenticate(bearer(i.Token("alice", resource))); denied != nil {
				t.Error(denied)
			}
			o.Issuers[0].Algorithms = []string{"RS256"}
			_, denied := newAuth(t, o).Authenticate(bearer(i.Token("alice", resource)))
			checkDenial(t, denied, 401, "invalid_token")
			// The same key under another algorithm.
			i.Use(issuer.Key{ID: k.ID, Method: jwt.SigningMethodRS256, Private: issuer.New("x").Newest().Private})
			o.Issuers[0].ReadKeys = func() ([]byte, error) {
				only := issuer.New("y")
				only.Use(k)
				return only.Set(), nil
			}
			o.Issuers[0].Algorithms = nil
			_, denied = newAuth(t, o).Authenticate(bearer(i.Token("alice", resource)))
			checkDenial(t, denied, 401, "invalid_token")
		})
	}
}

// A set with keys of all types yields the usable ones.
func TestForeignKeysArePassedOver(t *testing.T) {
	i := issuer.New("https://id.example")
	set := strings.TrimSuffix(string(i.Set()), "]}") + `,{"kty":"OKP","crv":"X25519","x":"3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"},` +
		`{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA"},{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"},{"kty":7},7,` +
		`{"kty":"RSA","n":"` + base64.RawURLEncoding.EncodeToString(make([]byte, 16)) + `","e":"AQAB"}]}`
	o := options(i)
	o.Issuers[0].ReadKeys = func() ([]byte, error) { return []byte(set), nil }
	if _, denied := newAuth(t, o).Authenticate(bearer(i.Token("alice", resource))); denied != nil {
		t.Error(denied)
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"keys":null}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, `{"keys":[` + strings.Repeat(`{},`, 256) + `{}]}`} {
		o.Issuers[0].ReadKeys = func() ([]byte, error) { return []byte(bad), nil }
		if _, err := auth.New(o); err == nil || !strings.Contains(err.Error(), i.URL) {
			t.Errorf("%.40s: %v", bad, err)
		}
	}
}

// A set without keys for signatures means that the keys were removed: it is read, and no token is
// valid. A set whose signature keys are all unusable is an error.
func TestSetsWithoutKeys(t *testing.T) {
	i := issuer.New("https://id.example")
	token := i.Token("alice", resource)
	const encrypts = `{"kty":"RSA","use":"enc","alg":"RSA-OAEP","n":"AQAB","e":"AQAB"}`
	for set, mistake := range map[string]bool{
		`{"keys":[]}`:                 false,
		`{"keys":[` + encrypts + `]}`: false,
		`{"keys":[{"kty":"EC","key_ops":["deriveKey"],"crv":"P-256","x":"AA","y":"AA"}]}`: false,
		`{"keys":[` + encrypts + `,{"kty":"RSA","use":"sig","n":"AQAB","e":"AQAB"}]}`:     true,
		`{"keys":[{"kty":"RSA"}]}`:               true,
		`{"keys":[` + private(t, i, "d") + `]}`:  true,
		`{"keys":[` + private(t, i, "D") + `]}`:  true,
		`{"keys":[` + private(t, i, "qi") + `]}`: true,
	} {
		o := options(i)
		o.Issuers[0].ReadKeys = func() ([]byte, error) { return []byte(set), nil }
		a, err := auth.New(o)
		if mistake || err != nil {
			if mistake != (err != nil) {
				t.Errorf("%s: %v", set, err)
			}
			continue
		}
		if got := status(a, token); got != 401 {
			t.Errorf("%s: status %d, want 401", set, got)
		}
	}
}

// private returns the issuer's newest key as it is in its set, with a member of private keys beside.
func private(t *testing.T, i *issuer.Issuer, member string) string {
	t.Helper()
	var set struct {
		Keys []map[string]any `json:"keys"`
	}
	if err := json.Unmarshal(i.Set(), &set); err != nil {
		t.Fatal(err)
	}
	k := set.Keys[0]
	k[member] = "AAAA"
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A key in a set with its private half verifies nothing, from when it is read: any reader of the set
// can sign with it. The other keys count.
func TestPrivateKeysArePassedOver(t *testing.T) {
	i := issuer.New("https://id.example")
	other := i.Token("alice", resource)
	public := strings.TrimSuffix(string(i.Set()), "]}")
	i.Rotate()
	token := i.Token("alice", resource)
	var file atomic.Pointer[string]
	set := string(i.Set())
	file.Store(&set)
	o := options(i)
	o.Issuers[0].ReadKeys = func() ([]byte, error) { return []byte(*file.Load()), nil }
	synctestRun(t, o, func(a *auth.Authenticator) {
		for _, c := range []struct {
			set           string
			token, others int
		}{
			{set, 200, 200},
			{public + "," + private(t, i, "d") + "]}", 401, 200},
			{set, 200, 200},
			{strings.TrimSuffix(set, "]}") + "," + private(t, i, "d") + "]}", 401, 200},
			{strings.TrimSuffix(set, "]}") + `,{"key_ops":["sign"],` + private(t, i, "d")[1:] + "]}", 401, 200},
			{set, 200, 200},
			{`{"keys":[` + private(t, i, "d") + `]}`, 401, 401},
		} {
			file.Store(&c.set)
			time.Sleep(2 * time.Minute) // verified tokens are cached
			if got, others := status(a, token), status(a, other); got != c.token || others != c.others {
				t.Errorf("%s: status %d, and with the other key %d", c.set, got, others)
			}
		}
	})
}

// Without credentials callers are anonymous if that is allowed; with invalid ones they are refused.
func TestOptional(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.Optional = true
	a := newAuth(t, o)
	if p, denied := a.Authenticate(request()); denied != nil || !p.Anonymous() {
		t.Errorf("%+v, %+v", p, denied)
	}
	_, denied := a.Authenticate(bearer("x"))
	checkDenial(t, denied, 401, "invalid_token")
	_, denied = a.Authenticate(request(""))
	checkDenial(t, denied, 400, "invalid_request")
	_, denied = a.Authenticate(request("Bearer\tx"))
	checkDenial(t, denied, 400, "invalid_request")
	for _, query := range []string{"access_token=x", "access%5ftoken=x", "%61ccess_token=x", "a=b&access_token", "access_token=%zz", "a;access_token=x"} {
		r := request()
		r.URL.RawQuery = query
		_, denied = a.Authenticate(r)
		checkDenial(t, denied, 401, "")
	}
}

// A challenge names the initial scopes and the metadata of its endpoint.
func TestChallenges(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.Metadata.Initial = []string{"mcp:read", "mcp:list"}
	o.EndpointOf = func(path string) string {
		if path == "/message" {
			return "/sse"
		}
		return path
	}
	a := newAuth(t, o)
	for path, metadata := range map[string]string{"/mcp": "/mcp", "/sse": "/sse", "/message": "/sse", "/": ""} {
		_, denied := a.Authenticate(httptest.NewRequest("GET", path, nil))
		want := `Bearer scope="mcp:read mcp:list", resource_metadata="` + resource + `/.well-known/oauth-protected-resource` + metadata + `"`
		if denied == nil || denied.Challenges[0] != want {
			t.Errorf("%s: %+v, want %s", path, denied, want)
		}
	}
	// Only API keys: there is no issuer of tokens.
	o.Issuers = nil
	o.ReadAPIKeys = func() ([]auth.APIKey, error) { return nil, nil }
	if _, denied := newAuth(t, o).Authenticate(bearer("x")); denied == nil || strings.Contains(denied.Challenges[0], "resource_metadata") {
		t.Errorf("%+v", denied)
	}
}

// A challenge at the admin address names the edge as a whole, and the required scope.
func TestChallengesOfTheAdminAddress(t *testing.T) {
	i := issuer.New("https://id.example")
	o := options(i)
	o.EndpointOf = func(string) string { return "/mcp" }
	o.Metadata.Initial = []string{"mcp:read"}
	a := newAuth(t, o).Requiring("mcp:operate")
	for name, r := range map[string]*http.Request{"none": request(), "no such token": bearer("x"), "no scope": bearer(i.Token("alice", resource))} {
		_, denied := a.Authenticate(r)
		want := `scope="mcp:operate", resource_metadata="` + resource + `/.well-known/oauth-protected-resource"`
		if denied == nil || !strings.HasSuffix(denied.Challenges[0], want) {
			t.Errorf("%s: %+v, want %s", name, denied, want)
		}
	}
}

// The API keys are reread while the edge runs.
func TestAPIKeysAreWatched(t *testing.T) {
	var file atomic.Pointer[[]auth.APIKey]
	file.Store(&[]auth.APIKey{{Name: "one", SHA256: sha256.Sum256([]byte("1"))}})
	o := options(issuer.New("https://id.example"))
	o.ReadAPIKeys = func() ([]auth.APIKey, error) {
		list := file.Load()
		if list == nil {
			return nil, errors.New("half written")
		}
		return *list, nil
	}
	synctestRun(t, o, func(a *auth.Authenticator) {
		accepted := func(key string, want bool) {
			t.Helper()
			if _, denied := a.Authenticate(bearer(key)); (denied == nil) != want {
				t.Errorf("key %s: %+v", key, denied)
			}
		}
		accepted("1", true)
		accepted("2", false)
		file.Store(nil)
		time.Sleep(5 * time.Second)
		accepted("1", true)
		file.Store(&[]auth.APIKey{{Name: "two", SHA256: sha256.Sum256([]byte("2"))}})
		time.Sleep(5 * time.Second)
		accepted("1", false)
		accepted("2", true)
	})
}

// The refusal of an API key that has expired, or was removed, has its issuer and name for the operator, and the client gets neither.
func TestRefusedAPIKeysAreNamed(t *testing.T) {
	var file atomic.Pointer[[]auth.APIKey]
	gone := auth.APIKey{Name: "gone", SHA256: sha256.Sum256([]byte("2")), Scopes: []string{"s"}}
	file.Store(&[]auth.APIKey{{Name: "old", SHA256: sha256.Sum256([]byte("1")), Expires: time.Unix(1, 0)}, gone})
	o := options(issuer.New("https://id.example"))
	o.ReadAPIKeys = func() ([]auth.APIKey, error) { return *file.Load(), nil }
	synctestRun(t, o, func(a *auth.Authenticator) {
		rest := (*file.Load())[:1]
		file.Store(&rest)
		time.Sleep(5 * time.Second)
		for key, want := range map[string]struct{ reason, issuer, subject string }{
			"1": {"expired", auth.APIKeyIssuer, "old"}, "2": {"unknown", auth.APIKeyIssuer, "gone"}, "3": {"unknown", "", ""},
		} {
			for by, denied := range map[string]*web.Denial{"mcp": refusal(a, key), "admin": refusal(a.Requiring("s"), key)} {
				if denied.Reason != want.reason || denied.Issuer != want.issuer || denied.Caller.Subject != want.subject || denied.Caller.Issuer != want.issuer {
					t.Errorf("key %s, %s: %+v", key, by, denied)
				}
				if text := denied.Message + fmt.Sprint(denied.Challenges); want.subject != "" && strings.Contains(text, want.subject+" ") || strings.Contains(text, auth.APIKeyIssuer) {
					t.Errorf("key %s, %s: the client gets %s", key, by, text)
				}
			}
		}
	})
}

// refusal returns why a key is refused.
func refusal(by web.Authenticator, key string) *web.Denial {
	_, denied := by.Authenticate(bearer(key))
	return denied
}

// The log has the issuer or audiences of a refused token and the accepted ones; the client gets
// neither.
func TestDetailsOfRefusals(t *testing.T) {
	i := issuer.New("https://id.example")
	a := newAuth(t, options(i))
	for name, c := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"issuer":        {map[string]any{"iss": i.URL + "/"}, fmt.Sprintf("its iss is %q, and accepted are %q", i.URL+"/", i.URL)},
		"no issuer":     {map[string]any{"iss": ""}, `its iss is "", and accepted are`},
		"audience":      {map[string]any{"aud": []string{"one", "two"}}, `its aud is "one", "two", and accepted are "` + resource},
		"long":          {map[string]any{"iss": strings.Repeat("x", 3000)}, `"` + strings.Repeat("x", 200) + `", and`},
		"with controls": {map[string]any{"iss": "a\nb"}, `"a\nb"`},
	} {
		_, d := a.Authenticate(bearer(i.Token("alice", resource+"/mcp", c.claims)))
		if d == nil || !strings.Contains(d.Detail, c.want) || strings.Contains(d.Message, i.URL) {
			t.Errorf("%s: %+v, want %q", name, d, c.want)
		}
	}
}
