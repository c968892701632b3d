package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// boot is how the edge of a case runs, and how its clients connect. The zero value is one replica and HTTP/1.1.
type boot struct {
	// name is the beginning of the names of such attacks; empty for the zero value.
	name string
	// replicas is the number of processes. Several share a Redis. 0 means 1.
	replicas int
	// tls: the edge has a certificate. http2: clients speak HTTP/2 alone.
	tls, http2 bool
}

// boots are the ways in which the cases of everyBoot run.
var boots = []boot{{}, {name: "replicas/", replicas: 2}, {name: "h2/", tls: true, http2: true}, {name: "h2c/", http2: true}}

// everyBoot returns the cases once for each of boots. They start their edges with site.start.
func everyBoot(cases []attack) (all []attack) {
	for _, b := range boots {
		for _, a := range cases {
			a.name, a.boot = b.name+a.name, b
			all = append(all, a)
		}
	}
	return all
}

// fleet is the edge of one case: replicas that serve one configuration.
type fleet struct {
	boot  boot
	all   []*edge
	redis *redisserver.Server // nil: there is none, or it is the case's
	certs *certificate        // nil: in the clear
}

// start writes a configuration, starts the replicas that the case's boot says, and returns when all are ready. Its files have the path base, with
// endings. settings are flags.
func (s *site) start(ctx context.Context, base, config string, settings ...setting) (f *fleet, err error) {
	f = &fleet{boot: s.boot}
	defer func() {
		if err != nil {
			f.kill()
		}
	}()
	if s.boot.tls {
		if f.certs, err = newCertificate(base); err != nil {
			return f, err
		}
		config = fmt.Sprintf("listen: {tls: {cert: %q, key: %q}}\n", f.certs.cert, f.certs.key) + config
	}
	file := base + ".yaml"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return f, err
	}
	n := max(s.boot.replicas, 1)
	if n > 1 && !has(settings, "redis.url") {
		if f.redis, err = redisserver.Start(); err != nil {
			return f, err
		}
		settings = append(settings, setting{"redis.url", f.redis.URL()})
	}
	for i := range n {
		addrs, err := process.FreeAddrs(2)
		if err != nil {
			return f, err
		}
		e := &edge{Addr: addrs[0], Admin: addrs[1], tls: s.boot.tls}
		f.all = append(f.all, e)
		more := append(settings[:len(settings):len(settings)], setting{"config", file}, setting{"listen.public-url", f.all[0].origin()}, setting{"server.replica", strconv.Itoa(i)})
		if err := e.start(s.o, fmt.Sprintf("%s-%d.log", base, i), more...); err != nil {
			f.all = f.all[:i]
			return f, err
		}
	}
	for _, e := range f.all {
		if err := e.awaitReady(ctx); err != nil {
			return f, err
		}
	}
	return f, nil
}

func has(settings []setting, name string) bool {
	for _, s := range settings {
		if s.name == name {
			return true
		}
	}
	return false
}

// url is the MCP endpoint of the first replica, and the audience of tokens at all.
func (f *fleet) url() string { return f.all[0].url() }

// gone says which replica has ended, and why; nil: none has.
func (f *fleet) gone() (err error) {
	for i, e := range f.all {
		if why := e.gone(); why != nil {
			err = errors.Join(err, fmt.Errorf("replica %d: %w", i, why))
		}
	}
	return err
}

// kill ends all processes.
func (f *fleet) kill() {
	for _, e := range f.all {
		e.kill()
	}
	if f.redis != nil {
		f.redis.Close()
	}
}

// rogue is a client from ip that changes between the replicas. Its first request is not to the first one.
func (f *fleet) rogue(ip string) *rogue {
	r := newRogue(f.url(), ip)
	for _, e := range f.all[1:] {
		r.urls = append(r.urls, e.url())
	}
	if f.boot.http2 {
		r.useHTTP2(f.certs)
	}
	return r
}

// admin is a client of a path on the admin addresses, which changes between the replicas.
func (f *fleet) admin(path string) *rogue {
	var r *rogue
	for _, e := range f.all {
		url := "http://" + e.Admin + path
		if r == nil {
			r = newRogue(url, "127.0.0.1")
			continue
		}
		r.urls = append(r.urls, url)
	}
	return r
}

// base is the path of a case's files in the site's directory.
func (s *site) base(name string) string {
	return filepath.Join(s.dir, strings.ReplaceAll(s.boot.name, "/", "-")+name)
}
