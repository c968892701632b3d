package auth

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Principals have the claims that are to be kept, and no others.
func TestKeptClaims(t *testing.T) {
	a := &Authenticator{}
	i := &issuer{keep: &a.keep}
	claims := jwt.MapClaims{"region": "eu", "tenant": 1.0, "email": "a@example.com"}
	if got := i.kept(claims); got != nil {
		t.Errorf("nobody asked for claims: %v", got)
	}
	a.KeepClaims([]string{"region", "absent"}, false)
	before := a.keep.Load()
	if got := i.kept(claims); len(got) != 1 || got["region"] != "eu" {
		t.Errorf("kept %v", got)
	}
	a.KeepClaims([]string{"region", "absent"}, false)
	if a.keep.Load() != before {
		t.Error("tokens are verified again though the same claims are kept")
	}
	a.KeepClaims(nil, true)
	if got := i.kept(claims); len(got) != 3 || a.keep.Load() == before {
		t.Errorf("kept %v", got)
	}
}
