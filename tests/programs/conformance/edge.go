package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/mcpedge/mcpedge/tests/helpers/locked"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

const backendName = "everything"

// server is what is tested: one edge, or several behind a proxy, with their backend.
type server struct {
	url     string // MCP endpoint
	dir     string // built programs, and the data of Redis
	backend *process.Process
	skills  *process.Process // serves the skills
	one     *process.Process

	redis *replicas.Redis
	group replicas.Group
	proxy *replicas.Proxy
	// front adds the key of a locked edge; nil: it is open.
	front *httptest.Server
	key   string
}

// startServer builds the edge and its backend into a temporary folder, starts both on free loopback
// ports with their logs in results, and returns once the endpoint is ready. With replicas it is a
// proxy's that sends each request to the next of them, and they share a Redis; with none it is the
// edge's own. When it is to be locked it wants a key, and a proxy before it adds the
// key. When it is to be curated, the endpoint is that of a set.
func startServer(ctx context.Context, results string, o options) (_ *server, err error) {
	dir, err := os.MkdirTemp("", "mcpedge-conformance-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if err := process.Build(ctx, dir, "./edge", "./services/everything", "./services/resources"); err != nil {
		return nil, err
	}
	ports, err := process.FreeAddrs(4)
	if err != nil {
		return nil, err
	}
	listen, admin, target := ports[0], ports[1], ports[2]
	fixtures := o.backend
	if fixtures == "" {
		fixtures = filepath.Join(dir, "everything")
	}
	if s.backend, err = process.Start(backendName, fixtures, filepath.Join(results, "everything.log"),
		"--listen", target); err != nil {
		return nil, err
	}
	if err := process.AwaitListening(ctx, target, s.backend); err != nil {
		return nil, err // an interpreted one takes a moment, in which the edge would begin without it
	}
	if s.skills, err = process.Start("resources", filepath.Join(dir, "resources"), filepath.Join(results, "resources.log"),
		"--listen", ports[3], "--skills", filepath.Join(folder, "skills")); err != nil {
		return nil, err
	}
	flags, err := s.configure(o, target, ports[3])
	if err != nil {
		return nil, err
	}
	defer func() {
		if err == nil {
			err = s.open(o)
		}
	}()
	program := filepath.Join(dir, "edge")
	if o.replicas > 0 {
		return s, s.startReplicas(ctx, replicas.Options{
			Program: program, Dir: results, Count: o.replicas, Flags: func(int) []string { return flags },
		})
	}
	if s.one, err = process.Start("edge", program, filepath.Join(results, "edge.log"),
		append(flags, "--listen", listen, "--admin", admin)...); err != nil {
		return nil, err
	}
	s.url = "http://" + listen + "/mcp"
	return s, process.AwaitOK(ctx, "http://"+admin+"/readyz", s.one, s.backend, s.skills)
}

// configure writes the settings file of the edge, if it needs one, and returns the edge's flags. everything and skills are the
// addresses of the backends.
func (s *server) configure(o options, everything, skills string) (flags []string, err error) {
	config := filepath.Join(s.dir, "edge.yaml")
	if o.locked {
		if config, s.key, err = locked.Configure(s.dir); err != nil {
			return nil, err
		}
	}
	if o.curated {
		if err := curate(config, map[string]string{backendName: everything, "skills": skills}); err != nil {
			return nil, err
		}
	} else {
		flags = []string{"--backend", backendName + "=" + everything, "--backend", "skills=" + skills}
	}
	if o.locked || o.curated {
		flags = append(flags, "--config", config)
	}
	return flags, nil
}

// curate adds the settings of an edge with a set to a file, with the addresses of its backends by their names.
func curate(config string, addresses map[string]string) (err error) {
	text, err := os.ReadFile(filepath.Join(folder, "curated.yaml"))
	if err != nil {
		return err
	}
	file, err := os.OpenFile(config, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.WriteString(os.Expand(string(text), func(name string) string { return addresses[name] }))
	return err
}

// open completes the endpoint: it is that of the set, and a proxy before it adds the key of a locked edge.
func (s *server) open(o options) (err error) {
	path := "/mcp"
	if o.curated {
		path += "/curated"
		s.url += "/curated"
	}
	if o.locked {
		if s.front, err = locked.WithKey(s.url, s.key); err != nil {
			return err
		}
		s.url = s.front.URL + path
	}
	return nil
}

func (s *server) startReplicas(ctx context.Context, o replicas.Options) (err error) {
	if s.redis, err = replicas.StartRedis(ctx, s.dir, "redis", false); err != nil {
		return err
	}
	o.Redis = s.redis.URL()
	if s.group, err = replicas.New(o); err != nil {
		return err
	}
	if err := s.group.Start(ctx); err != nil {
		return err
	}
	if s.proxy, err = replicas.StartProxy(s.group); err != nil {
		return err
	}
	s.url = s.proxy.URL
	return nil
}

// stop ends everything, the edges first so that they drain, and removes the built programs. It reports
// a process that had ended on its own, did not end well or had to be killed.
func (s *server) stop() error {
	if s.front != nil {
		s.front.CloseClientConnections()
		s.front.Close()
	}
	if s.proxy != nil {
		s.proxy.Stop()
	}
	err := errors.Join(s.group.Stop(), s.one.Stop(), s.backend.Stop(), s.skills.Stop())
	if s.redis != nil {
		err = errors.Join(err, s.redis.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
