package config

import (
	"io"
	"strings"
	"testing"
)

// TestMistakes: a common mistake is refused with its key, its line and what to write. serve and
// check report it equally.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		// The form of the file.
		{"demo: true\n---\ndemo: true\n", ":3: a second document begins here"},
		{"---\ndemo: true\n...\n---\ndemo: true\n", ":5: a second document begins here"},
		{"auth:\n", ":1: auth: there is nothing below it"},
		{"\npolicy:\n", ":2: policy: there is nothing below it"},
		{"audit:\n", ":1: audit: there is nothing below it"},
		{"quotas:\n", ":1: quotas: there is nothing below it"},
		{"policy:\n  rules:\n", ":2: policy.rules: there is nothing below it"},
		{"policy:\n  default:\n", ":2: policy.default: it has no value"},
		{"catalog:\n  tools:\n", ":2: catalog.tools: there is nothing below it"},
		{"catalog:\n  default: ~\n", ":2: catalog.default: it has no value"},
		{"catalog: {prompts: [{backend: a, prompt: b, hide: }]}\n", ":1: catalog.prompts[0].hide: it has no value"},
		{"listen:\n  body:\n", ":2: listen.body: it has no value"},
		{"kubernetes:\n", ":1: kubernetes: there is nothing below it"},
		{"admin: {auth: }\n", ":1: admin.auth: there is nothing below it"},
		{"backends:\n- name: a\n  target: h:1\n  tls:\n", ":4: backends[0].tls: there is nothing below it"},
		{"backends:\n- name: a\n  target: h:1\n  health:\n", ":4: backends[0].health: there is nothing below it"},
		{"policy:\n  default: deny\n  external:\n", ":3: policy.external: there is nothing below it"},
		{"shutdown:\n  grace: 1s\n  grace: 2s\n", "edge.yaml:3: "},
		{"listen 127.0.0.1:1\n", "edge.yaml:1: it is a text where"},
		{"\tgrace: 1s\n", "edge.yaml:1: the line begins with a tab: indent it with spaces"},
		{"shutdown: {grace: [1s}\n", "edge.yaml:1: ',' or ']' must be specified"},
		{"call: {rounds: 1}\n", "calls, at the top, not indented, may be meant"},
		{"rounds: 1\n", "rounds belongs under calls"},
		{"calls:\n  round: 1\n", "rounds"},
		{"backend: [{name: a, target: h:1}]\n", "backends, at the top, not indented, may be meant"},
		// Keys: the section that they stand in counts first.
		{"policy: {default: deny, scopes: [{scopes: ['mcp:read']}]}\n", "scopes is not a key of policy.scopes: need may be meant"},
		{"policy: {default: deny, scopes: [{needs: ['mcp:read']}]}\n", "need, under policy.scopes, may be meant"},
		{"policy: {default: deny, rules: [{name: a, if: 'true', then: deny}]}\n", "if is not a key of policy.rules: when may be meant"},
		{"hooks: [{name: a, target: 'h:1', 'true': [request]}]\n", "true is not a key of hooks: on may be meant"},
		{"policy: {default: deny, rules: [{name: a, when: 'true', level: deny}]}\n", "under policy.rules there are name, when, then and mode; level belongs under log"},
		{"quotas: [{per: tool, limit: 1/s}]\n", "limit is not a key of quotas: rate may be meant"},
		{"backends: [{name: a, url: 'h:1'}]\n", "url is not a key of backends: target may be meant"},
		{"audit: {path: a}\n", "path is not a key of audit: file may be meant"},
		{"listen: {tls: {ca: a}}\n", "under listen.tls there are cert, key and client-ca"},
		{"backends: [{name: a, target: 'h:1', scopes: [a]}]\n", "scopes belongs under backends.exchange"},
		{"backends: [{name: a, target: 'h:1', metadata: {x-a: {vale: b}}}]\n", "value, under backends.metadata.x-a, may be meant"},
		{"backends: [{name: a, target: 'h:1', metadata: {x-a: {level: b}}}]\n", "under backends.metadata.x-a there are value, file and from"},
		{"calls: {demo: true}\n", "demo belongs at the top, not indented"},
		// Keys that are named as flags or variables of the environment are.
		{"log-level: debug\n", "log-level is a flag: write log: {level: …} in the file"},
		{"log_level: debug\n", "log-level is a flag: write log: {level: …} in the file"},
		{"logLevel: debug\n", "log-level is a flag: write log: {level: …} in the file"},
		{"MCPEDGE_LOG_LEVEL: debug\n", "log-level is a flag: write log: {level: …} in the file"},
		{"log: {log-level: debug}\n", "log-level is a flag: write log: {level: …} in the file"},
		{"log-levle: debug\n", "log-level, a flag, may be meant: write log: {level: …} in the file"},
		{"server-name: a\n", "server-name is now server.name: write server: {name: …} in the file"},
		{"admin-tls-client-ca: a\n", "admin-tls-client-ca is now admin.tls.client-ca: write admin: {tls: {client-ca: …}} in the file"},
		{"server: {trusted-proxy: a}\n", "trusted-proxy is now listen.trusted-proxies: write listen: {trusted-proxies: …} in the file"},
		{"MCPEDGE_ROUNDS: 1\n", "rounds belongs under calls"},
		{"sessionTtl: 1h\n", "write sessions: {ttl: …} in the file"},
		{"config: a.yaml\n", "the keys of the file are listen, "},
		{"policies: []\n", "policy may be meant"},
		{"calls: {stream: 5}\n", "stream-after"},
		{"calls: {kubernetes: 5}\n", "kubernetes belongs at the top"},
		{"sessions: {required: none}\n", "sessions.required: it is a text where true or false is wanted"},
		// Texts with a colon.
		{"policy: {hierarchy: {mcp:write: [mcp:read]}}\n", "a text with a colon needs quotation marks here: write \"mcp:write\""},
		{"policy:\n  hierarchy: {\n    admin: [a], mcp:write: ['mcp:read']}\n", "a text with a colon needs quotation marks here: write \"mcp:write\""},
		{"server:\n  title: Tools: all of them\n", "a text with a colon needs quotation marks here: write \"Tools: all of them\""},
		{"listen:\n  address: [::]:8080\n", "a text with a colon needs quotation marks here: write \"[::]:8080\""},
		// Durations.
		{"shutdown: {grace: 30}\n", ":1: shutdown.grace: a duration needs its unit: 30s, 30ms or 30m rather than 30"},
		{"shutdown: {grace: 1.5}\n", ":1: shutdown.grace: a duration needs its unit"},
		{"sessions: {ttl: 5 parsecs}\n", ":1: sessions.ttl: \"5 parsecs\" is not a duration"},
		{"redis: {lease: 1w}\n", ":1: redis.lease: \"1w\" is not a duration"},
		{"sessions: {ttl: 0.5d}\n", ":1: sessions.ttl: \"0.5d\" is not a duration"},
		{"shutdown: {grace: [1s]}\n", ":1: shutdown.grace: it is not a duration"},
		{"shutdown: {grace: {a: 1s}}\n", ":1: shutdown.grace: it is not a duration"},
		{"shutdown: {grace: yes}\n", ":1: shutdown.grace: \"yes\" is not a duration"},
		{"sessions: {ttl: 0s}\n", ":1: sessions.ttl: 0s: give a value above 0"},
		{"listen: {keep-alive: 0}\n", ":1: listen.keep-alive: 0: give a value above 0"},
		{"listen: {keep-alive: -1s}\n", ":1: listen.keep-alive: -1s: give a value above 0"},
		{"backends:\n- {name: a, target: 'h:1', timeout: 0s}\n", ":2: backends[0].timeout: 0s: give a value above 0"},
		{"backends:\n- name: a\n  target: h:1\n  refresh: 5\n", ":4: backends[0].refresh: a duration needs its unit"},
		{"policy: {external: {target: 'h:1', timeout: 11s}}\n", ":1: policy.external: timeout: 11s"},
		{"audit: {otlp: {timeout: 0s}}\n", ""},
		// Metadata.
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    Authorization: {value: x}\n", ":5: backends[0] a: metadata.Authorization: the key is not a key of metadata: use 1 to 128 of a-z"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {}\n", "metadata.x-a: give one of value, file and from"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {value: b, file: c}\n", "metadata.x-a: give one of value, file and from"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: b\n", "edge.yaml:5: backends[0].metadata.x-a: it is a text where a section"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {form: b}\n", "form"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {value: Zürich}\n", "metadata.x-a: value: it has characters other than"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {from: principal.tenant}\n", "metadata.x-a: from: it is not a valid expression: there is no variable principal.tenant; column 1: undeclared reference"},
		{"backends:\n- name: a\n  target: h:1\n  metadata:\n    x-a: {from: principal.claims.}\n", "metadata.x-a: from: it is not a valid expression: column 18: Syntax error"},
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
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [uber-trace-id]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [X-Datadog-Parent-Id]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [True-Client-IP]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [HTTP2-Settings]\n", "has credentials, or is of the connection"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [':path']\n", "is not a key of metadata"},
		{"backends:\n- name: a\n  target: h:1\n  forward-headers: [x-data-bin]\n", "is for bytes"},
		{"kubernetes:\n  metadata:\n    x-a: {file: /etc/hostname}\n", ":3: kubernetes: metadata.x-a: file: every user who may label a Service would receive it"},
		{"kubernetes:\n  metadata: {grpc-a: {value: a}}\n", ":2: kubernetes: metadata.grpc-a: the key is set by the edge"},
		{"kubernetes:\n  metadata: {x-a: {from: subject}}\n", ":2: kubernetes: metadata.x-a: from: it is not a valid expression"},
		{"kubernetes:\n  backends: [{name: payments, timeout: 3s}]\n", ":2: kubernetes.backends[0] payments: name: \"payments\": write namespace/service"},
		{"kubernetes:\n  backends: [{name: a/**, timeout: 3s}]\n", ":2: kubernetes.backends[0] a/**: name: \"a/**\": write namespace/service"},
		{"kubernetes:\n  backends: [{name: a/*, target: 'h:1'}]\n", ":2: kubernetes.backends[0] a/*: target: \"h:1\": the discovery finds it"},
		{"kubernetes:\n  backends: [{name: a/*, prefix: ''}]\n", ":2: kubernetes.backends[0] a/*: prefix: it is empty"},
		{"kubernetes:\n  backends: [{name: a/*, prefix: '{name}_'}]\n", ":2: kubernetes.backends[0] a/*: prefix: \"{name}_\": use letters"},
		{"kubernetes:\n  backends:\n  - {name: a/*, timeout: 3s}\n  - {name: a/*, timeout: 4s}\n", ":4: kubernetes.backends[1] a/*: timeout: it is set for \"a/*\" in kubernetes.backends[0], too"},
		{"kubernetes:\n  backends: [{name: a/*, identity: signed}]\n", ":2: kubernetes.backends[0] a/*: identity: signed needs a key"},
		{"kubernetes:\n  backends: [{name: a/*, kind: reflect, claims: [tenant]}]\n", ":2: kubernetes.backends[0] a/*: claims: a service of kind: reflect"},
		{"kubernetes:\n  backends: [{name: a/*, labels: a}]\n", "unknown field \"labels\""},
		{"listen: {address: 127.0.0.1:1}\nroot: ''\n", ":2: root: \"\": it says nothing: write off"},
		{"kubernetes:\n  forward-headers: [cookie]\n", ":2: kubernetes: forward-headers: \"cookie\" has credentials"},
		{"backends:\n- name: a\n  target: h:1\n  kind: reflect\n  claims: [tenant]\n", "send them in metadata: {x-NAME: {from: principal.claims.NAME}}"},
		// Sizes and counts.
		{"listen: {body: 4M}\n", ":1: listen.body: \"4M\" is not a size: write a number, or one with KiB, MiB, GiB, kB, MB or GB"},
		{"listen: {body: much}\n", ":1: listen.body: \"much\" is not a size"},
		{"listen: {body: -1}\n", ":1: listen.body: \"-1\" is not a size"},
		{"listen: {body: 0}\n", ":1: listen.body: 0: give a value above 0"},
		{"listen: {body: 1.5MiB}\n", ":1: listen.body: \"1.5MiB\" is not a size"},
		{"lists: {page-size: 1.5}\n", ":1: lists.page-size: \"1.5\" is not a whole number"},
		{"lists: {page-size: ten}\n", ":1: lists.page-size: \"ten\" is not a whole number"},
		{"calls: {rounds: 0}\n", ":1: calls.rounds: 0: give a value above 0"},
		{"calls: {rounds: -3}\n", ":1: calls.rounds: -3: give a value above 0"},
		{"calls: {rounds: 1e3}\n", ":1: calls.rounds: \"1e3\" is not a whole number"},
		{"backends:\n- {name: a, target: 'h:1', max-concurrent: 0}\n", ":2: backends[0].max-concurrent: 0"},
		{"server: {memory: 1MiB}\n", ":1: server.memory: 1MiB is too little"},
		// Addresses.
		{"listen: {address: 0.0.0.0:8080}\n", ":1: listen.address: \"0.0.0.0:8080\" is reachable from other machines"},
		{"listen: {address: ':8080'}\n", ":1: listen.address: \":8080\" is reachable"},
		{"listen: {address: localhost}\n", ":1: listen.address: \"localhost\" is not an address: give host:port"},
		{"listen: {address: 127.0.0.1:99999}\n", ":1: listen.address: \"127.0.0.1:99999\" has the port 99999: ports are at most 65535"},
		{"listen: {address: '::1:8080'}\n", ":1: listen.address: \"::1:8080\" is not an address: give an IPv6 address in brackets, such as [::1]:8080"},
		{"listen: {address: 127.0.0.1:webb}\n", ":1: listen.address: \"127.0.0.1:webb\" has the port \"webb\", which is not known: give a number from 0 to 65535"},
		{"admin: {address: 127.0.0.1:90900}\n", ":1: admin.address: \"127.0.0.1:90900\" has the port 90900: ports are at most 65535"},
		{"backends:\n- {name: a, target: 'h:500510'}\n", ":2: backends[0] a: target \"h:500510\" has the port 500510: ports are at most 65535"},
		{"backends:\n- {name: a, target: 'dns://8.8.8.8/h:500510'}\n", "has the port 500510"},
		{"backends:\n- {name: a, target: 'ipv4:10.0.0.1:1,10.0.0.2:65536'}\n", "has the port 65536"},
		{"policy: {external: {target: '[::1]:99999'}}\n", ":1: policy.external: target \"[::1]:99999\" has the port 99999"},
		{"listen: {public-url: https://mcp.example.com:84430}\n", ":1: listen.public-url: \"https://mcp.example.com:84430\" has the port 84430: ports are at most 65535"},
		{"redis: {url: redis://h:63790, prefix: a b}\n", ":1: redis.prefix"},
		{"redis: {url: redis://:secret@h:637900}\n", ":1: redis.url: the URL has a port that is too large: ports are at most 65535"},
		{"redis: {url: 'redis+cluster://h:1?addr=i:637900'}\n", ":1: redis.url: the URL has a port that is too large"},
		{"admin: {address: 0.0.0.0:9090}\n", ":1: admin.address: \"0.0.0.0:9090\" is reachable"},
		{"listen: {address: 127.0.0.1:80}\nadmin: {address: 127.0.0.1:80}\n", ":2: admin.address: \"127.0.0.1:80\" is the address of listen, too"},
		{"listen: {address: 127.0.0.1:9090}\n", "admin.address: \"127.0.0.1:9090\" is the address of listen, too"},
		{"listen: {public-url: mcp.example.com}\n", ":1: listen.public-url: \"mcp.example.com\" is not an http or https URL"},
		{"listen: {trusted-proxies: [proxy.internal]}\n", ":1: listen.trusted-proxies[0]: \"proxy.internal\" is neither an address nor a network"},
		{"listen: {tls: {cert: a.pem}}\n", ":1: listen.tls: "},
		{"redis: {url: localhost:6379}\n", ":1: redis.url: "},
		// Backends.
		{"backends:\n- {name: a b, target: 'h:1'}\n", ":2: backends[0]: name \"a b\""},
		{"backends:\n- {name: a, target: 'h:1'}\n- {name: a, target: 'h:2'}\n", ":3: backends[1]: name \"a\" is used twice"},
		{"backends:\n- {name: a}\n", ":2: backends[0]"},
		{"backends:\n- name: a\n  target: http://h:1\n", ":3: backends[0] a: target"},
		{"backends:\n- name: a\n  target: h:1\n  kind: rest\n", ":4: backends[0] a: kind: \"rest\": use contract or reflect"},
		{"backends:\n- name: a\n  target: h:1\n  schemas: loose\n", ":4: backends[0] a: schemas: \"loose\""},
		// Who may call, and what.
		{"auth: {}\n", ":1: auth: there are neither issuers nor api-keys"},
		{"auth:\n  issuers:\n  - issuer: example.com\n", ":3: auth.issuers[0]: issuer: \"example.com\" is not an http or https URL"},
		{"auth:\n  api-keys: k\n  dpop: maybe\n", ":3: auth.dpop: \"maybe\""},
		{"policy:\n  default: deny\n  rules:\n  - {name: r, when: 'tool.nam == 1', then: hide}\n", ":4: policy: rules[0] r: when: it is not a valid expression"},
		{"policy:\n  default: maybe\n", ":2: policy: default: "},
		{"quotas:\n- {per: tool, rate: often}\n", ":2: quotas[0]"},
		{"log: {level: loud}\n", ":1: log.level: \"loud\""},
		{"lists: {schemas: strict}\n", ":1: lists.schemas: \"strict\""},
		{"redis: {seal-keys: [short]}\n", ":1: redis.seal-keys[0] is not 32 bytes in base64"},
	} {
		name := file(t, c.yaml)
		errs := map[string]string{}
		for _, command := range []string{serve, check} {
			_, err := Load(command, []string{"--config", name}, env(nil), io.Discard)
			if err == nil {
				t.Errorf("%s takes %q", command, c.yaml)
				continue
			}
			errs[command] = strings.ReplaceAll(err.Error(), name, "edge.yaml")
			if !strings.Contains(errs[command], c.want) {
				t.Errorf("%s of %q: %s\nwant %s", command, c.yaml, errs[command], c.want)
			}
		}
		if errs[serve] != errs[check] {
			t.Errorf("%q: serve says %s\ncheck says %s", c.yaml, errs[serve], errs[check])
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
	c, err := Load(serve, []string{"--config", file(t, "shutdown: {grace: 0}\nsessions: {ttl: 1d12h}\nlisten: {body: 4MB, connections: 0}\n")}, env(nil), io.Discard)
	if err != nil || c.Shutdown.Grace != 0 || c.Sessions.TTL.Hours() != 36 || c.Listen.Body != 4_000_000 {
		t.Errorf("%v, %v, %v, %v", c.Shutdown.Grace, c.Sessions.TTL, c.Listen.Body, err)
	}
	// What a flag has set is not the file's mistake.
	_, err = Load(serve, []string{"--config", file(t, "calls: {rounds: 3}\n"), "--rounds=-1"}, env(nil), io.Discard)
	if err == nil || strings.Contains(err.Error(), "edge.yaml:1") {
		t.Errorf("a mistake of a flag: %v", err)
	}
}

// Variables that look like settings are reported, with a suggestion. Those of Kubernetes services
// are not.
func TestStrays(t *testing.T) {
	got := Strays([]string{
		"PATH=/bin", "MCPEDGE_LISTEN_BODY=x", "MCPEDGE_LISTEN_BODI=x", "MCPEDGE_ZZZ_QQQ=x", "MCPEDGE_CONFIG=f", "MCPEDGE_SERVICE_HOST=10.0.0.1",
		"MCPEDGE_PORT=tcp://10.0.0.1:80", "MCPEDGE_ADMIN_SERVICE_PORT_HTTP=80", "MCPEDGE_PORT_8080_TCP_ADDR=10.0.0.1", "MCPEDGE_PORT_8080_TCP=tcp://10.0.0.1:8080",
	})
	want := []string{"MCPEDGE_LISTEN_BODI is set, and no setting has this variable: MCPEDGE_LISTEN_BODY may be meant", "MCPEDGE_ZZZ_QQQ is set, and no setting has this variable"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}
