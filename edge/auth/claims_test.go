package auth

import "testing"

// Principals have the configured claims, with all digits, and no others.
func TestKeptClaims(t *testing.T) {
	a := &Authenticator{}
	i := &issuer{keep: &a.keep}
	raw := []byte(`{"region":"eu","tenant":9007199254740993,"limits":[1e400,1.50],"email":"a@example.com"}`)
	if got := i.kept(raw); got != nil {
		t.Errorf("no claim is to be kept: %v", got)
	}
	a.KeepClaims(KeptClaims{Names: []string{"tenant", "absent", "limits"}})
	before := a.keep.Load()
	if got := i.kept(raw); len(got) != 2 || string(got["tenant"]) != "9007199254740993" || string(got["limits"]) != "[1e400,1.50]" {
		t.Errorf("kept %s", got)
	}
	a.KeepClaims(KeptClaims{Names: []string{"tenant", "absent", "limits"}})
	if a.keep.Load() != before {
		t.Error("tokens are verified again though the same claims are kept")
	}
	a.KeepClaims(KeptClaims{All: true})
	if got := i.kept(raw); len(got) != 4 || a.keep.Load() == before {
		t.Errorf("kept %v", got)
	}
}

// Other claims can be forwarded to backends from one token on.
func TestForwardedClaimsAreReplaced(t *testing.T) {
	a := &Authenticator{}
	i := &issuer{keep: &a.keep}
	raw := []byte(`{"tenant":7,"org":{"unit":"x"}}`)
	for _, paths := range [][]string{nil, {"tenant"}, {"org.unit", "tenant"}, {"absent"}} {
		a.KeepClaims(KeptClaims{Forwarded: paths})
		got, why := i.forwardedClaims(raw)
		want := map[string]string{"tenant": "7", "org.unit": `"x"`}
		for _, path := range paths {
			if string(got[path]) != want[path] {
				t.Errorf("%q: %s", paths, got)
			}
		}
		if why != nil || len(got) > len(paths) {
			t.Errorf("%q: %s, %v", paths, got, why)
		}
	}
}

// A claim of the wrong type is invalid, and does not count as absent: a rule may deny by it.
func TestClaimsOfAnotherType(t *testing.T) {
	for raw, good := range map[string]bool{
		`{"sub":"a"}`:                                  true,
		`{"sub":"a","scope":"read write"}`:             true,
		`{"sub":"a","scope":["read","write"]}`:         true,
		`{"sub":"a","scope":""}`:                       true,
		`{"sub":"a","scope":7,"scp":"admin"}`:          false,
		`{"sub":"a","scope":null,"scp":"admin"}`:       false,
		`{"sub":"a","scope":{"admin":true}}`:           false,
		`{"sub":"a","scope":["read",7]}`:               false,
		`{"sub":"a","scope":[["admin"]]}`:              false,
		`{"sub":"a","scp":true}`:                       false,
		`{"sub":"a","scope":"read","scp":7}`:           true, // the first claim that exists
		`{"sub":"a","roles":"intern"}`:                 true,
		`{"sub":"a","roles":{"intern":{}}}`:            false,
		`{"sub":"a","roles":7}`:                        false,
		`{"sub":"a","roles":["intern",null]}`:          false,
		`{"sub":"a","roles":null}`:                     true, // no roles
		`{"sub":"a","realm_access":{"roles":null}}`:    true,
		`{"sub":"a","realm_access":null}`:              false,
		`{"sub":"a","realm_access":{"roles":["ops"]}}`: true,
		`{"sub":"a","realm_access":{}}`:                true,
		`{"sub":"a","realm_access":{"roles":7}}`:       false,
		`{"sub":"a","realm_access":["roles"]}`:         false,
		`{"sub":"a","groups":7}`:                       true, // the claim is not read
		`{"sub":"a","client_id":"desk"}`:               true,
		`{"sub":"a","client_id":7,"azp":"desk"}`:       false,
		`{"sub":"a","azp":["desk"]}`:                   false,
		`{"sub":"a","jti":7}`:                          false,
		`{"sub":"a","act":{"sub":7}}`:                  false,
		`{"sub":7}`:                                    false,
		`{"sub":null,"client_id":"desk"}`:              false,
	} {
		p, err := Issuer{URL: "https://id"}.Principal([]byte(raw))
		if (err == nil) != good {
			t.Errorf("%s: %+v, %v", raw, p, err)
		}
	}
}

// Scopes are separated by U+0020 alone (RFC 6749, section 3.3): other white space does not split a
// scope that the issuer granted.
func TestScopesAreSeparatedBySpace(t *testing.T) {
	for _, space := range []string{"\t", "\n", "\r", "\v", "\f", "\u0085", "\u00a0", "\u2003", "\u2028", "\u3000"} {
		got := scopesOf([]string{"read" + space + "admin  write ", " "})
		if len(got) != 2 || got[0] != "read"+space+"admin" || got[1] != "write" {
			t.Errorf("%q: %q", space, got)
		}
	}
}

// Groups are roles only if the settings say so: users may create groups.
func TestGroupsAreNoRoles(t *testing.T) {
	raw := []byte(`{"sub":"a","groups":["admin"],"roles":["intern"]}`)
	if p, err := (Issuer{URL: "https://id"}).Principal(raw); err != nil || len(p.Roles) != 1 || p.Roles[0] != "intern" {
		t.Errorf("%v, %v", p.Roles, err)
	}
	if p, err := (Issuer{URL: "https://id", Roles: []string{"groups"}}).Principal(raw); err != nil || len(p.Roles) != 1 || p.Roles[0] != "admin" {
		t.Errorf("%v, %v", p.Roles, err)
	}
}

// Audiences are compared in canonical form: without case of scheme and host, the default port and
// one trailing slash.
func TestCanonicalAudiences(t *testing.T) {
	have := newAudiences([]string{"https://mcp.example.com/mcp", "client-id"})
	for audience, want := range map[string]bool{
		"https://mcp.example.com/mcp":      true,
		"HTTPS://MCP.example.com:443/mcp/": true,
		"client-id":                        true,
		"Client-ID":                        false,
		"https://mcp.example.com/MCP":      false,
		"https://mcp.example.com/mcp//":    false,
		"https://mcp.example.com/mcp#":     false,
		"https://mcp.example.com/mcp#x":    false,
		"https://mcp.example.com/mcp?":     false,
		"https://mcp.example.com/mcp%2F":   false,
		"https://mcp.example.com/mcp%2f":   false,
		"https://mcp.example.com/%6dcp/":   false,
		"https://mcp.example.com/%6dcp":    false,
		"https://u@mcp.example.com/mcp":    false,
		"https://mcp.example.com./mcp":     false,
		"https://mcp.example.com:80/mcp":   false,
		"http://mcp.example.com/mcp":       false,
		" https://mcp.example.com/mcp":     false,
	} {
		if got := have.has([]string{audience}); got != want {
			t.Errorf("%q: %v", audience, got)
		}
	}
	escaped := newAudiences([]string{"https://mcp.example.com/a%2Fb"})
	for audience, want := range map[string]bool{
		"https://mcp.example.com/a%2Fb":  true,
		"https://MCP.example.com/a%2Fb/": true,
		"https://mcp.example.com/a/b":    false,
	} {
		if got := escaped.has([]string{audience}); got != want {
			t.Errorf("%q: %v", audience, got)
		}
	}
}
