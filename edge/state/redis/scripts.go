package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/state"
)

//go:embed lua/*.lua
var sources embed.FS

func source(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // The file is part of this package.
	}
	return string(b)
}

// script is one of the files, after the libraries that it needs.
type script struct {
	*redis.Script
	name string
}

// own compiles a script that does not use a session; of one that works on a session; logs one that
// also erases its logs; steps one that works on its calls.
func own(name string) *script   { return compile(name) }
func of(name string) *script    { return compile(name, "account", "lib") }
func logs(name string) *script  { return compile(name, "account", "lib", "log") }
func steps(name string) *script { return compile(name, "account", "lib", "log", "steps") }

func compile(name string, libraries ...string) *script {
	var b strings.Builder
	for _, file := range append(libraries, name) {
		b.WriteString(source(file))
	}
	s := &script{redis.NewScript(b.String()), name}
	scripts = append(scripts, s)
	return s
}

// scripts are all scripts.
var scripts []*script

// The scripts by their files.
var (
	createScript, loadScript     = of("create"), of("load")
	touchScript, updateScript    = of("touch"), of("update")
	followScript, unfollowScript = of("follow"), of("unfollow")
	deleteScript, commitScript   = logs("delete"), steps("commit")
	answerScript, claimScript    = steps("answer"), steps("claim")
	knownScript, restoreScript   = steps("known"), steps("restore")
	pageScript, orphansScript    = steps("page"), steps("orphans")
	askingScript, summaryScript  = steps("asking"), steps("summary")
	acquireScript, renewScript   = own("acquire"), own("renew")
	indexScript, pruneScript     = own("index"), own("prune")
	postponeScript               = own("postpone")
	borrowScript                 = compile("borrow", "account")
)

// reply is the result of a session's script.
type reply struct {
	code string
	rest []any
	// err is set by each, in place of the others.
	err error
}

func (p reply) at(i int) any {
	if i < len(p.rest) {
		return p.rest[i]
	}
	return nil
}

func (p reply) text(i int) string { s, _ := p.at(i).(string); return s }

func (p reply) number(i int) int64 {
	switch v := p.at(i).(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

// unsigned returns a number that a script counts up from 0.
func (p reply) unsigned(i int) uint64 { return uint64(p.number(i)) } // #nosec G115 -- none of them is negative

func (p reply) list(i int) []any { l, _ := p.at(i).([]any); return l }

// countedAt, lentAt and utmostAt are the indices of the shared arguments that vary between calls.
const countedAt, lentAt, utmostAt = 11, 14, 15

// setShared prepares the arguments that all session scripts share.
func (r *Replica) setShared() {
	l := &r.limits
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	r.shared = []any{
		r.id, number(l.SessionTTL.Milliseconds()), number(l.LogTTL.Milliseconds()), number(l.Lease.Milliseconds()),
		number(int64(l.LogEvents)), number(int64(l.LogBytes)), r.inboxOf(""), number(int64(l.SessionBytes)),
		number(int64(l.StreamsPerSession)), number(l.ClaimLife().Milliseconds()), number(r.renewals.every.Milliseconds()),
		"0", number(int64(l.PrincipalBytes)), flag(r.bucketsApart), "", "0",
	}
}

// args returns a session script's arguments, which follow the shared ones. counted means that this
// replica's use of the session need not be counted.
func (r *Replica) args(counted string, own ...any) []any {
	args := make([]any, 0, len(r.shared)+len(own))
	args = append(append(args, r.shared...), own...)
	args[countedAt] = counted
	return args
}

// run runs a script on a session and counts a use.
func (r *Replica) run(ctx context.Context, s *script, session string, own ...any) (reply, error) {
	return r.evalRun(ctx, s, session, []string{r.session(session)}, r.args("0", own...))
}

// runIndexed runs a script on the calls of a session, with the index of unfinished streams if that
// is on the same server. It counts a use unless one was counted recently.
func (r *Replica) runIndexed(ctx context.Context, s *script, session string, own ...any) (reply, error) {
	return r.runOften(ctx, s, session, r.indexedKeys(session), own...)
}

// runOften runs a script on a session. It counts a use unless one was counted recently.
func (r *Replica) runOften(ctx context.Context, s *script, session string, keys []string, own ...any) (reply, error) {
	counted := r.renewals.isEarly(session)
	if counted {
		return r.evalRun(ctx, s, session, keys, r.args("1", own...))
	}
	p, err := r.evalRun(ctx, s, session, keys, r.args("0", own...))
	if err == nil && p.code != "gone" {
		r.renewals.recordUse(session)
	}
	return p, err
}

// runClaiming runs a script that may claim a call, with the index if that is on the same server,
// and counts a use.
func (r *Replica) runClaiming(ctx context.Context, s *script, session string, own ...any) (reply, error) {
	return r.evalRun(ctx, s, session, r.indexedKeys(session), r.args("0", own...))
}

// indexedKeys returns the session's key and, if it is on the same server, its bucket of the index.
func (r *Replica) indexedKeys(session string) []string {
	if r.bucketsApart {
		return []string{r.session(session)}
	}
	return []string{r.session(session), r.bucketOf(session)}
}

func (r *Replica) evalRun(ctx context.Context, s *script, session string, keys []string, args []any) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	return r.runLending(ctx, session, args, func(args []any) (reply, error) {
		v, err := r.eval(ctx, s, keys, args...)
		if err != nil {
			return reply{}, unavailable(ctx, err)
		}
		return r.read(ctx, session, v)
	})
}

// read splits a script's result, and renews the session's index entry if that is due.
func (r *Replica) read(ctx context.Context, session string, v any) (reply, error) {
	list, _ := v.([]any)
	if len(list) < 2 {
		return reply{}, fmt.Errorf("a script returned %v: %w", v, state.ErrUnavailable)
	}
	p := reply{rest: list[2:]}
	p.code, _ = list[0].(string)
	if due, _ := list[1].(string); due != "" {
		r.renew(ctx, session, due)
	}
	return p, nil
}

// renew renews a session's entry in its principal's index, "until key", and in its account, the
// following "bytes life account"; until is 0 if only the account is due. A failure leaves a place
// uncounted until the next renewal.
func (r *Replica) renew(ctx context.Context, session, due string) {
	fields := strings.Fields(due)
	actx, cancel := detachedContext(ctx)
	defer cancel()
	if len(fields) == 5 {
		r.settle(actx, session, fields[4], fields[2], fields[3])
	}
	if len(fields) < 2 || fields[0] == "0" {
		return
	}
	until, key := fields[0], fields[1]
	if _, err := r.eval(actx, renewScript, []string{key}, escapeID(session), until); err != nil {
		r.log.Warn("the count of a principal's sessions could not be renewed for one of them", "error", err)
	}
}

// each runs a script on several sessions in one round trip. The results are in their order; that of
// a session whose record the script cannot read is its error.
func (r *Replica) each(ctx context.Context, s *script, sessions []string, own func(i int) []any) ([]reply, error) {
	if err := ctx.Err(); err != nil || len(sessions) == 0 {
		return nil, err
	}
	cmds := make([]*redis.Cmd, len(sessions))
	err := r.pipe(ctx, func(p redis.Pipeliner) {
		for i, id := range sessions {
			cmds[i] = s.EvalSha(ctx, p, []string{r.session(id)}, r.args("0", own(i)...)...)
		}
	})
	if errors.Is(err, errBreakerOpen) {
		return nil, unavailable(ctx, err)
	}
	out := make([]reply, len(sessions))
	for i, cmd := range cmds {
		v, err := cmd.Result()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			v, err = r.eval(ctx, s, []string{r.session(sessions[i])}, r.args("0", own(i)...)...)
		}
		if unreadable(err) {
			out[i].err = unavailable(ctx, err)
			continue
		}
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		if out[i], err = r.read(ctx, sessions[i], v); err != nil {
			return nil, err
		}
	}
	return out, nil
}
