package redis

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one of the files, after the libraries that it needs.
type script struct {
	*redis.Script
	name string
	// indexed means that its second key is the session's bucket of the index of unfinished streams, if that is on the same server.
	indexed bool
}

// own compiles a script that does not use a session; of one that works on a session; logs one that
// also erases its logs; steps one that works on its calls.
func own(name string) *script   { return compile(name, "clock") }
func of(name string) *script    { return compile(name, "clock", "account", "lib") }
func logs(name string) *script  { return compile(name, "clock", "account", "lib", "log") }
func steps(name string) *script { return compile(name, "clock", "account", "lib", "log", "steps") }

func compile(name string, libraries ...string) *script {
	var b strings.Builder
	for _, file := range append(libraries, name) {
		text, err := sources.ReadFile("lua/" + file + ".lua")
		if err != nil {
			panic(err) // The file is part of this package.
		}
		b.Write(text)
	}
	s := &script{redis.NewScript(b.String()), name, slices.Contains(libraries, "steps")}
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
	acquireScript, renewScript   = own("acquire"), compile("renew")
	indexScript, pruneScript     = own("index"), own("prune")
	postponeScript               = compile("postpone")
	borrowScript                 = compile("borrow", "clock", "account")
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

func (p reply) texts(i int) (out []string) {
	for _, v := range p.list(i) {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out
}

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
		"0", number(int64(l.PrincipalBytes)), flag(r.cluster != nil), "", "0",
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

// run runs a script about a call of a session, which is empty if it is about the session alone, and
// counts a use. The script's refusal is an error.
func (r *Replica) run(ctx context.Context, s *script, session, call string, own ...any) (reply, error) {
	return r.runLending(ctx, nil, s, session, call, r.args("0", own...))
}

// runOften is run, but counts a use only if none was counted recently.
func (r *Replica) runOften(ctx context.Context, s *script, session, call string, own ...any) (reply, error) {
	if r.renewals.isEarly(session) {
		return r.runLending(ctx, nil, s, session, call, r.args("1", own...))
	}
	p, err := r.run(ctx, s, session, call, own...)
	if err == nil {
		r.renewals.recordUse(session)
	}
	return p, err
}

// runAcknowledged is run; it then waits until the Redis replicas have the script's writes, and this
// replica's earlier writes to the session. Otherwise the error is state.ErrUnacknowledged. It does
// not wait if the script refuses. The use that it counts is a write, at least of the expiry, so that
// WAIT covers a repetition too.
func (r *Replica) runAcknowledged(ctx context.Context, s *script, session, call string, own ...any) (reply, error) {
	leave, err := r.acks.enter(ctx)
	if err != nil {
		return reply{}, err
	}
	defer leave()
	return r.runLending(ctx, r.acks, s, session, call, r.args("0", own...))
}

// runLending runs a script until its caller's account has lent its session enough. If the session
// grew during each of maxLends loans, the error is state.ErrUnavailable, and nothing was changed.
func (r *Replica) runLending(ctx context.Context, acks *acknowledgements, s *script, session, call string, args []any) (reply, error) {
	keys := []string{r.session(session)}
	if s.indexed && r.cluster == nil {
		keys = append(keys, r.bucketOf(session))
	}
	for lends := 0; ; lends++ {
		v, few, err := r.evalAcknowledged(ctx, acks, s, keys, args...)
		if err != nil {
			return reply{}, err
		}
		p, err := r.read(ctx, session, v)
		switch {
		case err != nil:
			return reply{}, err
		case p.code == "ok" && few != nil:
			return reply{}, few
		case p.code != "short":
			return p, r.refused(session, call, p)
		case lends == maxLends:
			return reply{}, fmt.Errorf("session %s grew %d times while its caller's account was read: %w", mcp.SessionPrint(session), maxLends, state.ErrUnavailable)
		}
		if err := r.lend(ctx, session, args, p); err != nil {
			return reply{}, err
		}
	}
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

// each runs a script on several sessions, on up to pipeline of them in one round trip, and calls visit
// with each result, in their order. That of a session whose record the script cannot read is its error.
func (r *Replica) each(ctx context.Context, s *script, sessions []string, own func(i int) []any, visit func(i int, rep reply) error) error {
	for first := 0; first < len(sessions); first += pipeline {
		batch := sessions[first:min(first+pipeline, len(sessions))]
		cmds := make([]*redis.Cmd, len(batch))
		err := r.pipe(ctx, func(p redis.Pipeliner) {
			for i, id := range batch {
				cmds[i] = s.EvalSha(ctx, p, []string{r.session(id)}, r.args("0", own(first+i)...)...)
			}
		})
		if cmds[0] == nil { // Nothing was sent.
			return err
		}
		for i, cmd := range cmds {
			rep, err := r.replyOf(ctx, cmd, s, batch[i], own, first+i)
			if err != nil {
				return err
			}
			if err := visit(first+i, rep); err != nil {
				return err
			}
		}
	}
	return nil
}

// replyOf returns the result of one command of each. If Redis does not have the script, it runs it again.
func (r *Replica) replyOf(ctx context.Context, cmd *redis.Cmd, s *script, session string, own func(i int) []any, i int) (reply, error) {
	v, err := cmd.Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		v, err = r.eval(ctx, s, []string{r.session(session)}, r.args("0", own(i)...)...)
	} else if err != nil {
		err = unavailable(ctx, err)
	}
	switch {
	case unreadable(err):
		return reply{err: err}, nil
	case err != nil:
		return reply{}, err
	}
	return r.read(ctx, session, v)
}
