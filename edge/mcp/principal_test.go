package mcp_test

import (
	"strconv"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Names have no invisible characters and no unusual spaces: two names that look the same would be
// two principals.
func TestIsName(t *testing.T) {
	for _, r := range []rune{
		// controls, lines, directions, and the replacement character
		0x00, 0x0A, 0x7F, 0x85, 0x2028, 0x2029, 0x202E, 0x2066, 0xFFFD,
		// nothing visible
		0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF, 0x00AD, 0x034F, 0x3164, 0xFFA0, 0x115F, 0x17B4, 0x180E, 0x2065, 0xFFF9,
		0xFE00, 0xFE0F, 0x180B, 0xE0100, 0xE0061, // variations and tags
		0x2800, 0x1D159, // blank symbols
		0x00A0, 0x1680, 0x2003, 0x202F, 0x3000, // other spaces
	} {
		for _, s := range []string{"ann" + string(r) + "lee", string(r), "ann" + string(r), string(r) + "ann"} {
			if mcp.IsName(s) {
				t.Errorf("%s is a name", strconv.QuoteToASCII(s))
			}
		}
	}
	for _, s := range []string{"", " ", "ann ", " ann", "ann\xff"} {
		if mcp.IsName(s) {
			t.Errorf("%q is a name", s)
		}
	}
	for _, s := range []string{
		"a", "ann lee", "Ann  Lee", "auth0|5f7c", "ann@example.com", "CN=Ann\\, Ops,O=Acme", "José", "Jose\u0301", "Ελένη", "Ольга",
		"عائشة", "דוד", "राम", "김민준", "李小龍", "やまだ", "🙂", "🇫🇷", "\u0600\u0661", "a-b_c.d/e:f",
	} {
		if !mcp.IsName(s) {
			t.Errorf("%s (%s) is not a name", s, strconv.QuoteToASCII(s))
		}
	}
}

// A user, a client and users of other issuers are different principals, although their subjects are
// the same text, as is the anonymous caller.
func TestPrincipalsAreDistinguished(t *testing.T) {
	all := []mcp.Principal{
		{}, {Subject: "alice", Issuer: "https://id"}, {Subject: "alice", Issuer: "https://id", SubjectIsClient: true},
		{Subject: "alice", Issuer: "https://other"}, {Subject: "alice"}, {Subject: "bob", Issuer: "https://id"},
	}
	identity := func(p mcp.Principal) string { return string(p.AppendIdentity(nil, nil)) }
	for i, a := range all {
		for j, b := range all {
			b.Scopes = []string{"x"} // the same principal with other rights
			if a.Is(&b) != (i == j) || (a.Key() == b.Key()) != (i == j) {
				t.Errorf("%+v and %+v: Is says %v, the keys are %q and %q", a, b, a.Is(&b), a.Key(), b.Key())
			}
			if i != j && identity(a) == identity(all[j]) {
				t.Errorf("%+v and %+v see the same lists", a, b)
			}
		}
	}
	if !(&mcp.Principal{Issuer: "https://id"}).Is(&mcp.Principal{}) {
		t.Error("the anonymous caller has an issuer")
	}
}
