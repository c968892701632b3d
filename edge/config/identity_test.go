package config

import (
	"io"
	"strings"
	"testing"
)

// The settings of callers' identities are read completely, and errors in them say what to do.
func TestIdentity(t *testing.T) {
	const one = "backends: [{name: a, target: 'a:1'"
	const auth = "{auth: {issuers: [{issuer: 'https://i', exchange: {client-id: e, client-secret-file: f}}, {issuer: 'https://j'}]}, " + one
	for text, want := range map[string]string{
		one + "}]":                      "",
		one + ", identity: principal}]": "",
		"{server: {signing-key: k.pem}, " + one + ", identity: signed}]}": "",
		"{server: {signing-key: k.pem}, " + one + "}]}":                   "",
		one + ", identity: signed}]":                                      "identity: signed needs a key to sign with",
		one + ", identity: token}]":                                       `identity: "token": use principal, signed or exchange`,
		"{server: {signing-key: k.pem}, " + one + ", kind: reflect, identity: signed, claims: [tenant]}]}": "",
		"{server: {signing-key: k.pem}, " + one + ", kind: reflect, identity: signed}]}":                   "",
		auth + ", identity: exchange}]}":                                                                                                 "",
		auth + ", identity: exchange, exchange: {audience: crm, scopes: [crm:read]}}]}":                                                  "",
		auth + ", identity: exchange, exchange: {resource: crm}}]}":                                                                      "exchange.resource: \"crm\" is not an http or https URL",
		auth + ", identity: exchange, exchange: {scopes: ['a b']}}]}":                                                                    "exchange.scopes: \"a b\"",
		auth + ", exchange: {audience: crm}}]}":                                                                                          "exchange is for identity: exchange",
		auth + ", kind: reflect, identity: exchange}]}":                                                                                  "",
		one + ", identity: exchange}]":                                                                                                   "needs an issuer that exchanges tokens",
		"{auth: {api-keys: k}, " + one + ", identity: exchange}]}":                                                                       "needs an issuer that exchanges tokens",
		"{auth: {issuers: [{issuer: 'https://i'}]}, " + one + ", identity: exchange}]}":                                                  "needs an issuer that exchanges tokens",
		"{auth: {issuers: [{issuer: 'https://i', exchange: {client-id: e}}]}, " + one + "}]}":                                            "exchange: client-id and client-secret-file are needed",
		"{auth: {issuers: [{issuer: 'https://i', exchange: {url: x, client-id: e, client-secret-file: f}}]}, " + one + "}]}":             "exchange.url: \"x\" is not an http or https URL",
		"{auth: {issuers: [{issuer: 'https://i', exchange: {url: 'https://i/t', client-id: e, client-secret-file: f}}]}, " + one + "}]}": "",
	} {
		_, err := Load("serve", []string{"--config", file(t, text)}, env(nil), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\ngives %v\nwant  %s", text, err, want)
		}
	}
}
