package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	neturl "net/url"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/redis"
)

const (
	// redisWithin bounds the duration of CheckRedis.
	redisWithin = 5 * time.Second
	// redisSpeaks bounds the time in which CheckRedis determines whether a server speaks TLS.
	redisSpeaks = time.Second
)

// CheckRedis writes the state of Redis to out, and leaves nothing in Redis. It returns an error
// with which an edge refuses to serve or waits for ever: a wrong password, a user without the
// required rights, a read-only replica, full memory, or a TLS mismatch. Any other reason why Redis
// cannot be used now is only a note, because an edge waits until it is over.
func CheckRedis(ctx context.Context, cfg config.Config, out io.Writer) error {
	if cfg.Redis.URL == "" {
		return nil
	}
	silent := slog.New(slog.DiscardHandler)
	redis.SetLogger(silent)
	r, err := openRedis(cfg, silent, nil)
	if err != nil {
		return err
	}
	defer r.Media.Close()
	if len(cfg.Redis.SealKeys) == 0 {
		_, _ = fmt.Fprintln(out, "info    redis: it holds what callers, backends and users wrote as plain text: set redis.seal-keys to seal it")
	}
	once, cancel := context.WithTimeout(ctx, redisWithin)
	defer cancel()
	known, err := r.Check.Fit(once)
	if err != nil && !isPermanent(err) {
		err = cmp.Or(tlsMismatch(ctx, &cfg), err)
	}
	err = reportRedis(config.Redact(cfg.Redis.URL), known, err, out)
	if needed := cfg.Redis.Acknowledge; err == nil && needed > 0 {
		if has, failed := r.Check.Followers(once, needed); failed == nil && has < needed {
			_, _ = fmt.Fprintf(out, "note    redis.acknowledge: %d replicas of Redis are demanded, and it has %d: until it has as many, no task is made and no confirmed call runs\n", needed, has)
		}
	}
	return err
}

// reportRedis writes the result of the check of the Redis at url. It returns err unless an edge
// would wait for its end. known reports that the eviction policy was read.
func reportRedis(url string, known bool, err error, out io.Writer) error {
	switch {
	case err == nil:
		_, _ = fmt.Fprintf(out, "ok      redis %s can be used\n", url)
		if !known {
			_, _ = fmt.Fprintf(out, "note    redis: %s does not report its maxmemory-policy: make sure that it is noeviction, or sessions are lost when its memory is full\n", url)
		}
	case errors.Is(err, state.ErrUnavailable) && !isPermanent(err):
		_, _ = fmt.Fprintf(out, "note    redis: %s cannot be used from here: %v; an edge that starts waits for it, unready, and answers clients with 503; one that runs stays ready, and refuses what needs it with 503\n", url, err)
	default:
		_, _ = fmt.Fprintf(out, "error   redis %s: %v\n", url, err)
		return fmt.Errorf("redis: %w", err)
	}
	return nil
}

// isPermanent reports whether waiting does not resolve an error of Redis.
func isPermanent(err error) bool {
	var certificate *tls.CertificateVerificationError
	return redis.IsPermanent(err) || errors.As(err, &certificate)
}

// errTLSMismatch means that the server uses TLS and the URL does not, or the reverse.
var errTLSMismatch = errors.New("TLS does not fit")

// tlsMismatch connects with TLS if the URL has none, and without if it has. It returns an error if
// the server answers, and nil otherwise.
func tlsMismatch(ctx context.Context, cfg *config.Config) error {
	_, plain, err := cfg.RedisURL()
	if err != nil {
		return nil
	}
	u, err := neturl.Parse(plain)
	if err != nil {
		return nil
	}
	addr := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))
	ctx, cancel := context.WithTimeout(ctx, redisSpeaks)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetDeadline(end)
	wants, other := u.Scheme, strings.TrimSuffix(u.Scheme, "s")
	switch secure := wants == "rediss"; {
	case secure && speaksRedis(conn):
		return fmt.Errorf("%w: the server at %s speaks Redis without it: begin the URL with %s", errTLSMismatch, addr, strings.Replace(scheme(cfg), wants, other, 1))
	case !secure && speaksTLS(ctx, conn):
		return fmt.Errorf("%w: the server at %s speaks TLS: begin the URL with %s", errTLSMismatch, addr, strings.Replace(scheme(cfg), "redis", "rediss", 1))
	}
	return nil
}

// scheme returns the scheme of the URL of Redis with its separator, such as redis+cluster://.
func scheme(cfg *config.Config) string {
	before, _, _ := strings.Cut(cfg.Redis.URL, "://")
	return before + "://"
}

// speaksRedis reports whether a server answers a Redis command, even with an error.
func speaksRedis(conn net.Conn) bool {
	first := make([]byte, 1)
	_, err := conn.Write([]byte("PING\r\n"))
	if err == nil {
		_, err = io.ReadFull(conn, first)
	}
	return err == nil && (first[0] == '+' || first[0] == '-')
}

// speaksTLS reports whether a server answers a TLS handshake. No data is sent over the connection,
// so the certificate is not verified.
func speaksTLS(ctx context.Context, conn net.Conn) bool {
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // #nosec G402 -- it is closed after the handshake
	err := client.HandshakeContext(ctx)
	var alert tls.AlertError
	var refused *net.OpError // of the kind "remote error", an alert
	return err == nil || errors.As(err, &alert) || errors.As(err, &refused) && refused.Op == "remote error"
}
