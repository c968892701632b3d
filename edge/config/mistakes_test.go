package config

import (
	"io"
	"strings"
	"testing"
)

// TestMistakes: what people write wrong is refused with its key, its line and what to write, and alike by the command that serves and by the one
// that checks.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		// The form of the file.
		{"listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n", ":3: a second document begins here"},
		{"---\ngrace: 1s\n...\n---\nsse: true\n", ":5: a second document begins here"},
		{"auth:\n", ":1: auth: there is nothing below it"},
		{"\npolicy:\n", ":2: policy: there is nothing below it"},
		{"audit:\n", ":1: audit: there is nothing below it"},
		{"kubernetes:\n", ":1: kubernetes: there is nothing below it"},
		{"admin-auth:\n", ":1: admin-auth: there is nothing below it"},
		{"backends:\n- name: a\n  target: h:1\n  tls:\n", ":4: backends[0].tls: there is nothing below it"},
		{"backends:\n- name: a\n  target: h:1\n  health:\n", ":4: backends[0].health: there is nothing below it"},
		{"policy:\n  default: deny\n  external:\n", ":3: policy.external: there is nothing below it"},
		{"grace: 1s\ngrace: 2s\n", "[2:1]"},
		{"listen 127.0.0.1:1\n", "[1:1]"},
		{"\tgrace: 1s\n", "[1:"},
		{"grace: [1s\n", "[1:8]"},
		{"limit: {rounds: 1}\n", "limits, at the top, not indented, may be meant"},
		{"rounds: 1\n", "rounds belongs under limits"},
		{"limits:\n  round: 1\n", "rounds"},
		{"backend: [{name: a, target: h:1}]\n", "backends, at the top, not indented, may be meant"},
		// Durations.
		{"grace: 30\n", ":1: grace: a duration needs its unit: 30s, 30ms or 30m rather than 30"},
		{"grace: 1.5\n", ":1: grace: a duration needs its unit"},
		{"limits:\n  session-ttl: 5 parsecs\n", ":2: limits.session-ttl: \"5 parsecs\" is no duration"},
		{"limits: {lease: 1w}\n", ":1: limits.lease: \"1w\" is no duration"},
		{"limits: {session-ttl: 0.5d}\n", ":1: limits.session-ttl: \"0.5d\" is no duration"},
		{"grace: [1s]\n", ":1: grace: it is no duration"},
		{"grace: {a: 1s}\n", ":1: grace: it is no duration"},
		{"grace: yes\n", ":1: grace: \"yes\" is no duration"},
		{"limits: {session-ttl: 0s}\n", ":1: limits.session-ttl: 0s: give a value above 0"},
		{"limits: {keep-alive: 0}\n", ":1: limits.keep-alive: 0: give a value above 0"},
		{"limits: {keep-alive: -1s}\n", ":1: limits.keep-alive: -1s: give a value above 0"},
		{"backends:\n- {name: a, target: 'h:1', timeout: 0s}\n", ":2: backends[0].timeout: 0s: give a value above 0"},
		{"backends:\n- name: a\n  target: h:1\n  refresh: 5\n", ":4: backends[0].refresh: a duration needs its unit"},
		{"backends:\n- name: a\n  target: h:1\n  resolve: 10ms\n", ":4: backends[0] a: resolve: 10ms: give 1s"},
		{"policy: {external: {target: 'h:1', timeout: 11s}}\n", ":1: policy.external: timeout: 11s"},
		{"audit: {otlp: {timeout: 0s}}\n", ""},
		// Metadata.
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    Authorization: {value: x}\n", ":5: backends[0] a: metadata.Authorization: the key is no key of metadata: use 1 to 128 of a-z"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {}\n", "metadata.x-a: give one of value, file and from"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {value: b, file: c}\n", "metadata.x-a: give one of value, file and from"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: b\n", "[5:10] it is a text where a section"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {form: b}\n", "form"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {value: Zürich}\n", "metadata.x-a: value: it has characters other than"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {from: principal.tenant}\n", "metadata.x-a: from: it is no expression that can be used: ERROR: <input>:1:1: undeclared reference"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {from: principal.claims.}\n", "metadata.x-a: from: it is no expression that can be used: ERROR: <input>:1:18: Syntax error"},
		{"backends:\n- name: a\n  target: h:1\n  metadata: {grpc-timeout: {value: 1S}}\n", "metadata.grpc-timeout: the key is set by the edge or by gRPC"},
		{"backends:\n- name: a\n  target: h:1\n  metadata: {mcp-name: {value: a}}\n", "metadata.mcp-name: the key is set by the edge"},
		{"backends:\n- name: a\n  target: h:1\n  metadata: {traceparent: {value: a}}\n", "metadata.traceparent: the key is set by the edge"},
		{"backends:\n- name: a\n  target: h:1\n  metadata: {x-bin: {value: a}}\n", "metadata.x-bin: the key is for bytes"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [Authorization]\n", "forward-headers: \"Authorization\" has credentials"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [cookie]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [X-Forwarded-For]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [mcp-session-id]\n", "is set by the edge or by gRPC"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [x-a, X-A]\n", "is there twice"},
		{"backends:\n- name: a\n  target: h:1\n  metadata: {x-a: {value: a}}\n  forward-headers: [X-A]\n", "is a key of metadata, too"},
		{"backends:\n- name: a\n  target: h:1\n  kind: reflect\n  claims: [tenant]\n", "tell it in metadata: {x-NAME: {from: principal.claims.NAME}}"},
		// Sizes and counts.
		{"limits: {body: 4M}\n", ":1: limits.body: \"4M\" is no size: write a number, or one with KiB, MiB, GiB, kB, MB or GB"},
		{"limits: {body: much}\n", ":1: limits.body: \"much\" is no size"},
		{"limits: {body: -1}\n", ":1: limits.body: \"-1\" is no size"},
		{"limits: {body: 0}\n", ":1: limits.body: 0: give a value above 0"},
		{"limits: {body: 1.5MiB}\n", ":1: limits.body: \"1.5MiB\" is no size"},
		{"limits: {page-size: 1.5}\n", ":1: limits.page-size: \"1.5\" is no whole number"},
		{"limits: {page-size: ten}\n", ":1: limits.page-size: \"ten\" is no whole number"},
		{"limits: {rounds: 0}\n", ":1: limits.rounds: 0: give a value above 0"},
		{"limits: {rounds: -3}\n", ":1: limits.rounds: -3: give a value above 0"},
		{"limits: {rounds: 1e3}\n", ":1: limits.rounds: \"1e3\" is no whole number"},
		{"backends:\n- {name: a, target: 'h:1', max-concurrent: 0}\n", ":2: backends[0].max-concurrent: 0"},
		{"memory: 1MiB\n", ":1: memory: 1MiB is too little"},
		// Addresses.
		{"listen: 0.0.0.0:8080\n", ":1: listen: \"0.0.0.0:8080\" is reachable from other machines"},
		{"listen: ':8080'\n", ":1: listen: \":8080\" is reachable"},
		{"listen: localhost\n", ":1: listen: \"localhost\" is no address: give host:port"},
		{"listen: 127.0.0.1:99999\n", ":1: listen: \"127.0.0.1:99999\" is no address: give host:port"},
		{"admin: 0.0.0.0:9090\n", ":1: admin: \"0.0.0.0:9090\" is reachable"},
		{"listen: 127.0.0.1:80\nadmin: 127.0.0.1:80\n", ":2: admin: \"127.0.0.1:80\" is the address of listen, too"},
		{"listen: 127.0.0.1:9090\n", "admin: \"127.0.0.1:9090\" is the address of listen, too"},
		{"public-url: mcp.example.com\n", ":1: public-url: \"mcp.example.com\" is no http or https URL"},
		{"trusted-proxies: [proxy.internal]\n", ":1: trusted-proxies[0]: \"proxy.internal\" is no address"},
		{"tls: {cert: a.pem}\n", ":1: tls: "},
		{"redis: localhost:6379\n", ":1: redis: "},
		// Backends.
		{"backends:\n- {name: a b, target: 'h:1'}\n", ":2: backends[0]: name \"a b\""},
		{"backends:\n- {name: a, target: 'h:1'}\n- {name: a, target: 'h:2'}\n", ":3: backends[1]: name \"a\" is used twice"},
		{"backends:\n- {name: a}\n", ":2: backends[0]"},
		{"backends:\n- name: a\n  target: http://h:1\n", ":3: backends[0] a: target"},
		{"backends:\n- name: a\n  target: h:1\n  kind: rest\n", ":4: backends[0] a: kind: \"rest\": use contract or reflect"},
		{"backends:\n- name: a\n  target: h:1\n  schemas: loose\n", ":4: backends[0] a: schemas: \"loose\""},
		// Who may call, and what.
		{"auth: {}\n", ":1: auth: there are neither issuers nor api-keys"},
		{"auth:\n  issuers:\n  - issuer: example.com\n", ":3: auth.issuers[0]: issuer: \"example.com\" is no http or https URL"},
		{"auth:\n  api-keys: k\n  dpop: maybe\n", ":3: auth.dpop: \"maybe\""},
		{"policy:\n  default: deny\n  rules:\n  - {name: r, when: 'tool.nam == 1', then: hide}\n", ":4: policy: rules[0] r: when: it is no expression"},
		{"policy:\n  default: maybe\n", ":2: policy: default: "},
		{"quotas:\n- {per: tool, rate: often}\n", ":2: quotas[0]"},
		{"log: {level: loud}\n", ":1: log.level: \"loud\""},
		{"schemas: strict\n", ":1: schemas: \"strict\""},
		{"state-keys: [short]\n", ":1: state-keys[0] is no base64 of 32 bytes"},
	} {
		name := file(t, c.yaml)
		told := map[string]string{}
		for _, command := range []string{serve, check} {
			_, err := Load(command, []string{"--config", name}, env(nil), io.Discard)
			if err == nil {
				t.Errorf("%s takes %q", command, c.yaml)
				continue
			}
			told[command] = strings.ReplaceAll(err.Error(), name, "edge.yaml")
			if !strings.Contains(told[command], c.want) {
				t.Errorf("%s of %q: %s\nwant %s", command, c.yaml, told[command], c.want)
			}
		}
		if told[serve] != told[check] {
			t.Errorf("%q: serve says %s\ncheck says %s", c.yaml, told[serve], told[check])
		}
	}
}

// A file without settings is like none; units of days and of powers of ten are taken.
func TestTakenAsMeant(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n", "---\n# nothing\n...\n", "--- {}\n"} {
		c, err := Load(serve, []string{"--config", file(t, text)}, env(nil), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if d := Default(); len(Differences(&c, &d)) > 0 {
			t.Errorf("%q changes %q", text, Differences(&c, &d))
		}
	}
	c, err := Load(serve, []string{"--config", file(t, "grace: 0\nlimits: {session-ttl: 1d12h, body: 4MB, connections: 0}\n")}, env(nil), io.Discard)
	if err != nil || c.Grace != 0 || c.Limits.SessionTTL.Hours() != 36 || c.Limits.Body != 4_000_000 {
		t.Errorf("%v, %v, %v, %v", c.Grace, c.Limits.SessionTTL, c.Limits.Body, err)
	}
	// What a flag has set is not the file's mistake.
	_, err = Load(serve, []string{"--config", file(t, "limits: {rounds: 3}\n"), "--rounds=-1"}, env(nil), io.Discard)
	if err == nil || strings.Contains(err.Error(), "edge.yaml:1") {
		t.Errorf("a mistake of a flag: %v", err)
	}
}

// Variables that look like settings are told of, with what may be meant; those of services of Kubernetes are not.
func TestStrays(t *testing.T) {
	got := Strays([]string{
		"PATH=/bin", "MCPEDGE_LISTEN=x", "MCPEDGE_LISTN=x", "MCPEDGE_ZZZ_QQQ=x", "MCPEDGE_CONFIG=f", "MCPEDGE_SERVICE_HOST=10.0.0.1",
		"MCPEDGE_PORT=tcp://10.0.0.1:80", "MCPEDGE_ADMIN_SERVICE_PORT_HTTP=80", "MCPEDGE_PORT_8080_TCP_ADDR=10.0.0.1", "MCPEDGE_PORT_8080_TCP=tcp://10.0.0.1:8080",
	})
	want := []string{"MCPEDGE_LISTN is set, and no setting has this variable: MCPEDGE_LISTEN may be meant", "MCPEDGE_ZZZ_QQQ is set, and no setting has this variable"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}
