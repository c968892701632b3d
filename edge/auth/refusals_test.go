package auth_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestRefusals: Refusals returns the reason for which a signed token with the claims is refused.
// Missing claims count as valid.
func TestRefusals(t *testing.T) {
	i := issuer.New("https://id.example")
	past, soon := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for name, c := range map[string]struct {
		change claims
		dpop   auth.DPoP
		want   []string // in each refusal
	}{
		"good":               {claims{}, auth.DPoPOff, nil},
		"another issuer":     {claims{"iss": "https://x.example", "exp": past}, auth.DPoPOff, []string{`iss "https://x.example": the access token's issuer is not accepted; auth.issuers has https://id.example`}},
		"no issuer's name":   {claims{"iss": 5}, auth.DPoPOff, []string{`iss 5: `}},
		"expired":            {claims{"exp": past}, auth.DPoPOff, []string{"has expired"}},
		"early":              {claims{"nbf": soon}, auth.DPoPOff, []string{"not valid yet"}},
		"unreadable times":   {claims{"exp": "soon"}, auth.DPoPOff, []string{"cannot be read"}},
		"another audience":   {claims{"aud": "https://other.example"}, auth.DPoPOff, []string{`aud "https://other.example": the access token is not for this server`}},
		"audiences":          {claims{"aud": []string{"a", resource}}, auth.DPoPOff, nil},
		"an ID token":        {claims{"nonce": "x"}, auth.DPoPOff, []string{"nonce"}},
		"bound":              {claims{"cnf": claims{"jkt": strings.Repeat("a", 43)}}, auth.DPoPOff, []string{"bound to a key"}},
		"bound with DPoP":    {claims{"cnf": claims{"jkt": strings.Repeat("a", 43)}}, auth.DPoPAccept, nil},
		"two things at once": {claims{"exp": past, "aud": "https://other.example"}, auth.DPoPOff, []string{"has expired", "not for this server"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(i)
			o.DPoP = c.dpop
			a := newAuth(t, o)
			all := i.Claims("alice", resource)
			for k, v := range c.change {
				all[k] = v
			}
			raw, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			why := a.Refusals(raw, "/mcp")
			if len(why) != len(c.want) {
				t.Fatalf("%v, want %q", why, c.want)
			}
			for n := range why {
				if !strings.Contains(why[n].Error(), c.want[n]) {
					t.Errorf("%v, want %q", why[n], c.want[n])
				}
			}
			if _, denial := a.Authenticate(bearer(i.Sign(all, nil))); (denial != nil) != (len(c.want) > 0) && c.dpop == auth.DPoPOff {
				t.Errorf("foreseen: %v, but the token: %v", why, denial)
			}
		})
	}
	a := newAuth(t, options(i))
	for _, raw := range []string{`{}`, `{"sub":"alice"}`, `null`, `[`} {
		if why := a.Refusals([]byte(raw), "/mcp"); why != nil {
			t.Errorf("%s: %v", raw, why)
		}
	}
	if why := fmt.Sprint(a.Refusals([]byte(`{"iss":"`+strings.Repeat("x", 10_000)+`"}`), "/mcp")); len(why) > 1000 {
		t.Errorf("%d bytes of a claim are shown", len(why))
	}
}
