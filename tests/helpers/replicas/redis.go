package replicas

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// Redis is a redis-server of one test, alone or a master of a Cluster, on a loopback port that stays the same. It is not safe
// for concurrent use.
type Redis struct {
	// Addr is the address on which it listens.
	Addr string

	durable bool
	masters int    // of its Cluster; 0: it is a single server
	bus     string // the port of the Cluster's nodes
	dir     string
	program string
	proc    *process.Process
}

// StartRedis starts an empty server with its data and log in dir/name. A durable server has each
// acknowledged write on disk (appendfsync always) and keeps it over Restart. Other servers lose
// their data with the process.
func StartRedis(ctx context.Context, dir, name string, durable bool) (*Redis, error) {
	r, err := newRedis(dir, name, durable)
	if err != nil {
		return nil, err
	}
	return r, r.start(ctx)
}

// StartCluster starts an empty Redis Cluster of masters without replicas, as StartRedis starts a server. With an error, it
// returns the masters so far.
func StartCluster(ctx context.Context, dir string, masters int, durable bool) (nodes []*Redis, err error) {
	var addrs []string
	for n := range masters {
		r, err := newRedis(dir, fmt.Sprintf("redis%d", n+1), durable)
		if err != nil {
			return nodes, err
		}
		bus, err := process.FreeAddrs(1)
		if err != nil {
			return nodes, err
		}
		r.masters = masters
		_, r.bus, _ = strings.Cut(bus[0], ":")
		nodes, addrs = append(nodes, r), append(addrs, r.Addr)
		if err := r.start(ctx); err != nil {
			return nodes, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, process.ReadyWithin)
	defer cancel()
	return nodes, redisserver.Join(ctx, addrs...)
}

// newRedis prepares a server.
func newRedis(dir, name string, durable bool) (*Redis, error) {
	program, err := redisserver.Program()
	if err != nil {
		return nil, err
	}
	addrs, err := process.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	r := &Redis{Addr: addrs[0], durable: durable, dir: filepath.Join(dir, name), program: program}
	return r, os.MkdirAll(r.dir, 0o755)
}

// URL returns the value for an edge's --redis.
func (r *Redis) URL() string {
	if r.masters > 0 {
		return "redis+cluster://" + r.Addr
	}
	return "redis://" + r.Addr
}

// Client returns a new client. The caller closes it.
func (r *Redis) Client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: r.Addr, MaxRetries: -1})
}

func (r *Redis) start(ctx context.Context) error {
	_, port, _ := strings.Cut(r.Addr, ":")
	appends := "no"
	if r.durable {
		appends = "yes"
	}
	args := []string{
		"--port", port, "--bind", "127.0.0.1", "--dir", r.dir, "--save", "", "--daemonize", "no",
		"--appendonly", appends, "--appendfsync", "always", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}
	if r.masters > 0 {
		args = append(args, "--cluster-enabled", "yes", "--cluster-port", r.bus, "--cluster-node-timeout", "5000")
	}
	var err error
	r.proc, err = process.Start("redis-server", r.program, filepath.Join(r.dir, "redis.log"), args...)
	if err != nil {
		return err
	}
	return r.awaitLoaded(ctx)
}

// awaitLoaded waits until this process answers and its data is loaded.
func (r *Redis) awaitLoaded(ctx context.Context) error {
	mine := fmt.Sprintf("\r\nprocess_id:%d\r\n", r.proc.Pid())
	return r.await(ctx, "answers with its data loaded", func(c *redis.Client) bool {
		info, err := c.Info(ctx).Result()
		return err == nil && strings.Contains(info, mine) && strings.Contains(info, "\r\nloading:0\r\n")
	})
}

// await polls until a condition holds. It fails after process.ReadyWithin, and if the server ends.
func (r *Redis) await(ctx context.Context, what string, ok func(*redis.Client) bool) error {
	c := r.Client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, process.ReadyWithin)
	defer cancel()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !ok(c) {
		select {
		case <-poll.C:
		case <-r.proc.Done():
			return fmt.Errorf("redis-server on %s ended before it %s\n%s", r.Addr, what, r.proc.Tail())
		case <-ctx.Done():
			return fmt.Errorf("not within %s: redis-server on %s %s\n%s", process.ReadyWithin, r.Addr, what, r.proc.Tail())
		}
	}
	return nil
}

// Restart stops servers, all of them before the first is started again on its port. A durable server keeps its data. Restart
// returns when the servers serve it, which a master of a Cluster does no sooner than 2 s after its start.
func Restart(ctx context.Context, servers ...*Redis) error {
	for _, r := range servers {
		if err := r.proc.Stop(); err != nil {
			return err
		}
	}
	for _, r := range servers {
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	for _, r := range servers {
		if r.masters == 0 {
			continue
		}
		if err := r.await(ctx, "serves its slots", func(c *redis.Client) bool { return redisserver.Joined(ctx, c, r.masters) }); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the server.
func (r *Redis) Stop() error { return r.proc.Stop() }

// Copy makes the server a replica of another one, and returns when it has all data, also on disk.
func (r *Redis) Copy(ctx context.Context, master *Redis) error {
	host, port, _ := strings.Cut(master.Addr, ":")
	c := r.Client()
	defer c.Close()
	if err := c.ReplicaOf(ctx, host, port).Err(); err != nil {
		return fmt.Errorf("redis-server on %s cannot copy %s: %w", r.Addr, master.Addr, err)
	}
	return r.await(ctx, "has copied "+master.Addr, func(c *redis.Client) bool {
		info, err := c.Info(ctx, "replication").Result()
		if err != nil || !strings.Contains(info, "\r\nmaster_link_status:up\r\n") {
			return false
		}
		// The server does not stop before its own file has the copy.
		info, err = c.Info(ctx, "persistence").Result()
		return err == nil && strings.Contains(info, "\r\naof_rewrite_in_progress:0\r\n") &&
			strings.Contains(info, "\r\naof_rewrite_scheduled:0\r\n")
	})
}

// Detach makes a replica an independent server. It gets no further writes of the master.
func (r *Redis) Detach(ctx context.Context) error {
	c := r.Client()
	defer c.Close()
	return c.ReplicaOf(ctx, "NO", "ONE").Err()
}
