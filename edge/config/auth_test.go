package config

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// The section of who may call, whole.
func TestAuth(t *testing.T) {
	path := file(t, `
listen: {address: 0.0.0.0:8080, public-url: https://mcp.example.com/}
auth:
  issuers:
    - issuer: https://id.example.com/realms/main
      jwks: keys.json
      audiences: [00000003-0000-0000]
      algorithms: [ES256]
      skew: 0s
      claims: {subject: [oid], scopes: [scp], roles: [resource_access.edge.roles]}
    - issuer: http://keycloak:8080/realms/x
  api-keys: keys.yaml
  metadata: {scopes-supported: [a, b], initial-scopes: [a], documentation: https://docs.example.com}
backends: [{name: a, target: "a:1"}]
`)
	cfg, err := Load("serve", []string{"--config", path}, env(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	one, other := &cfg.Auth.Issuers[0], &cfg.Auth.Issuers[1]
	if cfg.PublicURLOrListen() != "https://mcp.example.com" || one.SkewOrDefault() != 0 || other.SkewOrDefault() != time.Minute ||
		one.Claims.Roles[0] != "resource_access.edge.roles" || cfg.Auth.Metadata.ScopesSupported[1] != "b" {
		t.Errorf("%+v", cfg.Auth)
	}
}

// What is wrong with it is said with its value and with what to do.
func TestAuthIsChecked(t *testing.T) {
	const id = "auth: {issuers: [{issuer: 'https://id.example'"
	for text, want := range map[string]string{
		"auth: {}": "neither issuers nor api-keys",
		"{listen: {address: '0.0.0.0:1'}, " + id + "}]}}":                                                 "listen.public-url: it is missing",
		"{listen: {address: '127.0.0.1:0'}, " + id + "}]}}":                                               "listen.public-url: it is missing",
		"{listen: {address: '0.0.0.0:1', public-url: 'https://x'}, auth: {optional: true, api-keys: k}}":  "with auth.optional callers need no credentials",
		"{listen: {public-url: 'ftp://x', address: '127.0.0.1:1'}}":                                       "is not an http or https URL",
		"admin: {auth: {scope: a}}":                                                                       "there is no auth",
		"{auth: {api-keys: k}, admin: {auth: {}}}":                                                        "admin.auth.scope",
		"{auth: {api-keys: k}, admin: {auth: {client-cert: true}, tls: {cert: a, key: b, client-ca: c}}}": "admin.auth.scope",
		"{admin: {auth: {client-cert: true, scope: 'a b'}, tls: {cert: a, key: b, client-ca: c}}}":        "admin.auth.scope",
		"{admin: {auth: {client-cert: false}, tls: {cert: a, key: b, client-ca: c}}}":                     "set client-cert, or take admin.auth out",
		"{auth: {api-keys: k}, admin: {auth: {scope: a, open: [all]}}}":                                   `"all": use some of`,
		"{admin: {address: '0.0.0.0:1'}}":                                                                 "set admin.auth",
		"{listen: {public-url: 'https://x/?a=b'}}":                                                        "has a user, a query",
		"auth: {issuers: [{issuer: id.example}]}":                                                         `"id.example" is not an http or https URL`,
		"auth: {issuers: [{issuer: 'https://a'}, {issuer: 'https://a'}]}":                                 "is there twice",
		id + ", algorithms: [none]}]}":                                                                    `"none" is not accepted`,
		id + ", algorithms: [HS256]}]}":                                                                   `"HS256" is not accepted`,
		id + ", jwks: 'https://'}]}":                                                                      "is not an http or https URL",
		id + ", skew: 1h}]}":                                                                              "skew: 1h0m0s",
		id + ", skew: 30}]}":                                                                              "30s",
		id + ", audiences: ['']}]}":                                                                       "is empty",
		id + ", claims: {roles: ['']}}]}":                                                                 "is empty",
		id + "}], metadata: {initial-scopes: [offline_access]}}":                                          "between a client and its issuer",
		id + "}], metadata: {scopes-supported: ['a b']}}":                                                 "printable ASCII",
		id + "}], metadata: {documentation: docs}}":                                                       "auth.metadata.documentation",
		id + ", introspection: {url: x, client-id: a, client-secret-file: b}}]}":                          "is not an http or https URL",
		id + ", introspection: {url: 'https://x', client-id: a}}]}":                                       "client-secret-file are needed",
		id + ", introspection: {url: 'https://x', client-id: a, client-secret-file: b, ttl: 2h}}]}":       "at most 1h",
		id + ", introspection: {url: 'https://x', client-id: a, client-secret-file: b}}, {issuer: 'https://b', introspection: {url: 'https://x', client-id: a, client-secret-file: b}}]}": "leave it with one",
		id + ", audience: x}]}": "audiences",
	} {
		_, err := Load("serve", []string{"--config", file(t, text)}, env(nil), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
	}
	_, err := Load("serve", []string{"--listen", "0.0.0.0:1"}, env(nil), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "set auth") {
		t.Error(err)
	}
	cfg, err := Load("serve", []string{"--config", file(t, id+"}]}")}, env(nil), io.Discard)
	if err != nil || cfg.PublicURLOrListen() != "http://127.0.0.1:8080" {
		t.Errorf("%q, %v", cfg.PublicURLOrListen(), err)
	}
}

const sumOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

// The file of API keys has no key in it, and says what is wrong with an entry.
func TestParseAPIKeys(t *testing.T) {
	keys, err := ParseAPIKeys([]byte("- {name: ci, sha256: " + sumOfAbc + ", scopes: [a], roles: [b], expires: 2030-01-02T03:04:05Z}\n"))
	if err != nil || len(keys) != 1 || keys[0].Name != "ci" || keys[0].Scopes[0] != "a" || keys[0].Roles[0] != "b" ||
		!keys[0].Expires.Equal(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Fatalf("%+v, %v", keys, err)
	}
	if sum := keys[0].Sum(); sum[0] != 0xba || sum[31] != 0xad {
		t.Errorf("sum %x", sum)
	}
	for text, want := range map[string]time.Time{
		"2027-01-01": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), "'2027-01-01T01:00:00+01:00'": time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"2027-01-01T00:00:00.5Z": time.Date(2027, 1, 1, 0, 0, 0, 5e8, time.UTC), "null": {}, "~": {}, "": {},
	} {
		keys, err := ParseAPIKeys([]byte("- {name: ci, sha256: " + sumOfAbc + ", expires: " + text + "}\n"))
		if err != nil || !keys[0].Expires.Equal(want) {
			t.Errorf("expires: %s is %+v, %v", text, keys, err)
		}
	}
	// A key and its successor are keys of one caller.
	two := "- {name: ci, sha256: " + sumOfAbc + ", scopes: [a]}\n- {name: ci, sha256: " + strings.Repeat("ab", 32) + ", scopes: [a]}\n"
	if keys, err = ParseAPIKeys([]byte(two)); err != nil || len(keys) != 2 {
		t.Errorf("two keys of one name: %v, %v", keys, err)
	}
	if keys, err = ParseAPIKeys([]byte("[] # no keys\n")); err != nil || len(keys) != 0 {
		t.Errorf("a list of none: %v, %v", keys, err)
	}
	for text, want := range map[string]string{
		"":            "write [] for no keys",
		"# nothing\n": "write [] for no keys",
		"null":        "write [] for no keys",
		"---\n":       "write [] for no keys",
		"- {name: \"a\\u0085\", sha256: " + sumOfAbc + "}": "without control characters",
		"- {name: \"a\\u200b\", sha256: " + sumOfAbc + "}": "visible characters",
		"- {name: \"a \", sha256: " + sumOfAbc + "}":       "without spaces at its ends",
		"- {name: \"a\\u202e\", sha256: " + sumOfAbc + "}": "without control characters",
		"- null":                                 "sha256",
		"- {name: ci, sha256: secret}":           "64 hexadecimal digits",
		"- {name: '', sha256: " + sumOfAbc + "}": "give it 1 to 256 bytes of visible characters",
		"- {name: a, sha256: " + sumOfAbc + "}\n- {name: a, sha256: " + strings.Repeat("ab", 32) + ", scopes: [x]}":                    "other scopes, roles or claims than in entry 1",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {t: x}}\n- {name: a, sha256: " + strings.Repeat("ab", 32) + ", claims: {t: y}}": "other scopes, roles or claims than in entry 1",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {sub: b}}":                                                                      "claims: sub cannot be given: the subject is name",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {roles: [b]}}":                                                                  "claims: roles cannot be given: write roles",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {tenant: }}":                                                                    "claims: tenant has no value",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {tenant: .nan}}":                                                                "claims: tenant has a value that JSON does not have",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {\"a\\u200b\": b}}":                                                             "is not a name of a claim",
		"- {name: a, sha256: " + sumOfAbc + ", claims: [tenant]}":                                                                      "",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {t: " + strings.Repeat("x", 4<<10) + "}}":                                       "claims: t has 4098 bytes as JSON, and at most 4096 are allowed",
		"- {name: a, sha256: " + sumOfAbc + ", claims: {" + strings.Join(numbered(33), ", ") + "}}":                                    "claims: there are 33, and at most 32 are allowed",
		"- {name: a, sha256: " + sumOfAbc + "}\n- {name: a, sha256: " + sumOfAbc + "}":                                                 `the key of "a", too`,
		"- {name: a, sha256: " + sumOfAbc + "}\n- {name: b, sha256: " + strings.ToUpper(sumOfAbc) + "}":                                `the key of "a", too`,
		"- {name: a, key: secret}": "unknown field",
		"- {name: a, scopes: ['mcp:read mcp:write'], sha256: " + sumOfAbc + "}":      `scopes: "mcp:read mcp:write" `,
		"- {name: a, scopes: [''], sha256: " + sumOfAbc + "}":                        `scopes: "" `,
		"- {name: a, expires: tomorrow, sha256: " + sumOfAbc + "}":                   `"tomorrow" is not a time: write it as YYYY-MM-DDThh:mm:ssZ, or a date as YYYY-MM-DD`,
		"- {name: a, expires: 2026/01/01, sha256: " + sumOfAbc + "}":                 `"2026/01/01" is not a time`,
		"- {name: a, expires: 2026-13-01, sha256: " + sumOfAbc + "}":                 `"2026-13-01" is not a time`,
		"- {name: a, expires: 2026-02-30T00:00:00Z, sha256: " + sumOfAbc + "}":       `"2026-02-30T00:00:00Z" is not a time`,
		"- {name: a, expires: 20270101, sha256: " + sumOfAbc + "}":                   `"20270101" is not a time`,
		"- {name: a, expires: '', sha256: " + sumOfAbc + "}":                         `"" is not a time`,
		"- {name: a, expires: [2027-01-01], sha256: " + sumOfAbc + "}":               "is not a time",
		"- {name: a, expires: {at: 2027-01-01T00:00:00Z}, sha256: " + sumOfAbc + "}": "is not a time",
		"a: b": "",
		"- {name: ci, sha256: " + sumOfAbc + ", scope: [a]}":        `unknown field "scope": scopes may be meant`,
		"- {name: ci, sha: " + sumOfAbc + "}":                       `unknown field "sha": an entry has name, sha256, scopes, roles, claims and expires`,
		"- {name: ci, sha256: " + sumOfAbc + ", scopes: mcp:read}":  "it is a text where a list is wanted",
		"- {name: ci, sha256: " + sumOfAbc + ", scopes: [\"a b\"]}": `"a b" is not a scope: use printable ASCII without spaces`,
	} {
		if _, err := ParseAPIKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
	}
}

// numbered returns n claims in YAML.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("c%d: %d", i, i))
	}
	return all
}

// Claims of a key are the JSON values that YAML writes.
func TestClaimsOfAPIKeys(t *testing.T) {
	keys, err := ParseAPIKeys([]byte("- name: ci\n  sha256: " + sumOfAbc + "\n  claims: {tenant: acme, level: 3, groups: [a, b], org: {id: 7}, on: true, ratio: 0.5}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := keys[0].Claims.JSON()
	want := map[string]string{"tenant": `"acme"`, "level": "3", "groups": `["a","b"]`, "org": `{"id":7}`, "on": "true", "ratio": "0.5"}
	if len(got) != len(want) {
		t.Errorf("claims %s", got)
	}
	for name, text := range want {
		if string(got[name]) != text {
			t.Errorf("%s is %s, want %s", name, got[name], text)
		}
	}
	if none := (KeyClaims{}).JSON(); none != nil {
		t.Errorf("no claims are %v", none)
	}
}

// Each wrong time has its place and entry, and no part of another member.
func TestWrongTimesOfAPIKeysHaveTheirEntry(t *testing.T) {
	const form = " is not a time: write it as YYYY-MM-DDThh:mm:ssZ, or a date as YYYY-MM-DD"
	for text, want := range map[string]string{
		"- name: a\n  expires: 2027-01-01\n- name: bad\n  expires: 01/02/2027\n- {name: worse, sha256: secret, expires: ''}\n": `[4:12] entry 2, "bad": expires: "01/02/2027"` + form + "\n" +
			`[5:42] entry 3, "worse": expires: ""` + form,
		"- expires: tomorrow\n":                            `[1:12] entry 1: expires: "tomorrow"` + form,
		"# keys\n---\n- {name: a, expires: {at: never}}\n": `[3:22] entry 1, "a": expires: "{at: never}"` + form,
		"- {name: &t 1, expires: &x soon}\n":               `entry 1, "1": expires: "soon"` + form,
	} {
		if _, err := ParseAPIKeys([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
	}
}

// What is open of the admin address.
func TestOpens(t *testing.T) {
	for text, want := range map[string]string{
		"": "probes metrics dev",
		"{auth: {api-keys: k}, admin: {auth: {scope: a}}}":                                                           "probes",
		"{auth: {api-keys: k}, admin: {auth: {scope: a, open: []}}}":                                                 "",
		"{auth: {api-keys: k}, admin: {auth: {scope: a, open: [dev, probes]}}}":                                      "probes dev",
		"{admin: {address: '0.0.0.0:1', auth: {scope: m:o}}, auth: {api-keys: k}}":                                   "probes",
		"{admin: {address: '0.0.0.0:1', auth: {client-cert: true}, tls: {cert: a, key: b, client-ca: c}}}":           "probes",
		"{admin: {address: '0.0.0.0:1', auth: {client-cert: true, open: []}, tls: {cert: a, key: b, client-ca: c}}}": "",
	} {
		cfg, err := Load("serve", []string{"--config", file(t, text)}, env(nil), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var open []string
		for _, what := range []string{OpenProbes, OpenMetrics, OpenDev} {
			if cfg.Opens(what) {
				open = append(open, what)
			}
		}
		if got := strings.Join(open, " "); got != want {
			t.Errorf("%s opens %q, want %q", text, got, want)
		}
	}
}
