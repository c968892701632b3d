package mcp

import "testing"

// A person is the same by another client, and as the actor of another; people of other issuers are others.
func TestPersons(t *testing.T) {
	ada := Principal{Issuer: "https://id", Subject: "ada", Client: "one"}
	for name, c := range map[string]struct {
		p    Principal
		want bool
	}{
		"another client":  {Principal{Issuer: "https://id", Subject: "ada", Client: "two"}, true},
		"as actor":        {Principal{Issuer: "https://id", Subject: "bob", Actor: "ada"}, true},
		"another":         {Principal{Issuer: "https://id", Subject: "bob", Client: "one"}, false},
		"another issuer":  {Principal{Issuer: "https://other", Subject: "ada"}, false},
		"another's actor": {Principal{Issuer: "https://id", Subject: "bob", Actor: "eve"}, false},
	} {
		if ada.SharesPerson(&c.p) != c.want || c.p.SharesPerson(&ada) != c.want {
			t.Errorf("%s: want %v", name, c.want)
		}
	}
	for name, p := range map[string]Principal{
		"anonymous": {}, "a client": {Issuer: "https://id", Subject: "x", SubjectIsClient: true}, "a key": {Issuer: "api-key", Subject: "ci"},
	} {
		if p.IsPerson() {
			t.Errorf("%s is a person", name)
		}
	}
	if !ada.IsPerson() {
		t.Error("ada is no person")
	}
}
