package mcp

// Principal is who is calling, as the edge verified it. It never holds the token. The zero value is
// the anonymous caller. Principals are compared by Key.
type Principal struct {
	Subject string
	Issuer  string
	Scopes  []string
}

// Anonymous reports whether nobody vouched for the caller.
func (p Principal) Anonymous() bool { return p.Subject == "" }

// Key identifies the principal: two requests of the same caller have the same key, whatever their
// scopes. The anonymous caller's key is empty. The separator cannot occur in an issuer's URL.
func (p Principal) Key() string {
	if p.Subject == "" {
		return ""
	}
	return p.Issuer + "\x00" + p.Subject
}
