package stateful

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// asks makes server requests; number sets their ids. A URL elicitation keeps its elicitation id if
// an open one has the same URL.
func (c *runner) asks(in []mcp.InputRequest, open map[string]string) []state.Ask {
	asks := make([]state.Ask, len(in))
	for i, q := range in {
		a := &asks[i]
		*a = state.Ask{Key: q.Key, Method: q.Method}
		params := telemetry.WithTrace(q.Params, c.op.Promise())
		if q.URLMode && c.Rules.ElicitationID {
			a.ElicitationID = elicitationID(q.Params, open[q.Key])
			params = withElicitationID(params, a.ElicitationID)
		}
		a.Message = params
	}
	return asks
}

// elicitationID returns the id of the URL elicitation with params. It returns open if that is the
// id of an elicitation of the same URL, and otherwise a new id. An id ends with a digest of its
// URL. open is empty if no elicitation is open under the key.
func elicitationID(params json.RawMessage, open string) string {
	raw, _ := jsonrpc.Member(params, "url")
	url, _ := jsonrpc.Unquote(raw)
	sum := sha256.Sum256([]byte(url))
	if digest := "-" + hex.EncodeToString(sum[:16]); !strings.HasSuffix(open, digest) {
		return rand.Text() + digest
	}
	return open
}

// withElicitationID puts the member first in a params object.
func withElicitationID(params json.RawMessage, id string) json.RawMessage {
	rest := bytes.TrimLeft(params[bytes.IndexByte(params, '{')+1:], " \t\r\n")
	b := append(make([]byte, 0, len(params)+len(id)+24), `{"elicitationId":`...)
	b = jsonrpc.AppendString(b, id)
	if !bytes.HasPrefix(rest, []byte{'}'}) {
		b = append(b, ',')
	}
	return append(b, rest...)
}

// completed makes the notices of completed URL elicitations: those that asks does not repeat.
func completed(r *medium.Record, asks []state.Ask) (out []state.Entry) {
	for key, id := range r.Open {
		if slices.ContainsFunc(asks, func(a state.Ask) bool { return a.ElicitationID == id }) {
			continue
		}
		params := jsonrpc.AppendString([]byte(`{"elicitationId":`), id)
		out = append(out, state.Entry{
			Kind: state.EntryNotice, Completes: key,
			Data: notification(mcp.NotifyElicitComplete, append(params, '}')),
		})
	}
	return out
}

// answered accepts a client's response to a server request. The answer that completes a set makes
// this replica the owner of the call; release is then not nil and runs the next round. Call release
// after the client's answer was acknowledged. Answers to unknown requests are accepted and counted.
//
// The call continues with the credentials of the client that answered, because the original ones
// may have expired.
func (e *Era) answered(ctx context.Context, in *mcp.Incoming, s *localSession, msg jsonrpc.Message) (release func(), _ *mcp.Error) {
	ask := askOf(msg.ID)
	if ask == "" {
		e.counters.AnswersUnknown.Add(1)
		return nil, nil
	}
	given := state.Answer{Result: bytes.Clone(msg.Result), Error: bytes.Clone(msg.Error), Token: rand.Text(), By: in.Principal}
	status, release, err := e.calls.Answer(ctx, s.id, ask, given, in.Principal)
	if err != nil {
		if errors.Is(err, state.ErrLimit) {
			e.o.Telemetry.Hit(limitOf(err, telemetry.BoundSessionBytes))
		}
		return nil, e.storeError(s, err)
	}
	switch status {
	case state.AnswerUnknown:
		e.counters.AnswersUnknown.Add(1)
	case state.AnswerDuplicate:
		e.counters.AnswersDuplicate.Add(1)
	}
	return release, nil
}

// refused returns the reason for the end of a call whose client answered a request with an error.
func refused(q *medium.Question) string {
	text := "the client refused " + string(q.Method)
	raw, _ := jsonrpc.Member(q.Answer.Error, "message")
	if m, ok := jsonrpc.Unquote(raw); ok && m != "" {
		text += ": " + m
	}
	return text
}

func notification(m mcp.Method, params json.RawMessage) []byte {
	return jsonrpc.AppendNotification(make([]byte, 0, len(params)+len(m)+48), string(m), params)
}

// drawID draws the id of a request to a client: a random integer from 1 to 2^31 - 1. Some clients
// answer every request with a number as its id and hold it in 32 bits.
func drawID() int64 {
	n, _ := rand.Int(rand.Reader, big.NewInt(math.MaxInt32)) // never fails
	return n.Int64() + 1
}

// number returns a copy of a reply whose questions have distinct ids. The message of a question is
// its params without an id, or with an id that the session already uses and that is drawn again.
func (e *Era) number(r *call.Reply) *call.Reply {
	next := *r
	next.Asks = slices.Clone(r.Asks)
	drawn := make(map[int64]bool, len(next.Asks))
	for i := range next.Asks {
		a := &next.Asks[i]
		params := a.Message
		if a.ID != "" {
			params, _ = jsonrpc.Member(a.Message, "params")
		}
		n := e.draw()
		for drawn[n] {
			n = e.draw()
		}
		drawn[n] = true
		a.ID = strconv.FormatInt(n, 10)
		a.Message = jsonrpc.AppendRequest(make([]byte, 0, len(params)+128), jsonrpc.IntID(n), string(a.Method), params)
	}
	return &next
}

// askOf returns the ask of a response: the text of the id. Languages whose only number type is the
// float print a fraction, which is removed. Empty means that there is no such ask.
func askOf(id jsonrpc.ID) string {
	text, _, _ := strings.Cut(id.String(), ".")
	return text
}

// answeredInterval is the interval at which a replica that awaits the withdrawal of questions
// checks whether the client has answered them.
const answeredInterval = 5 * time.Second

// watchWithdrawal continues a parked call without answers once its questions are withdrawn
// (mcp.InputRequired). Only this replica watches, until it stops or the call's deadline. A call
// whose replica is lost waits for its client or its deadline.
func (e *Era) watchWithdrawal(c *runner) {
	if c.withdrawal == nil || len(c.open) == 0 || !e.withdrawals.Enter() {
		return
	}
	defer e.withdrawals.Leave()
	await, session, asks, who, until := c.withdrawal, c.s.id, c.open, c.First.Principal, c.record.Deadline
	e.withdrawals.Spawn(func() {
		ctx, cancel := context.WithDeadline(e.life, until)
		defer cancel()
		for ctx.Err() == nil {
			interval, done := context.WithTimeout(ctx, answeredInterval)
			withdrawn, waited := await(interval), interval.Err() != nil
			done()
			switch {
			case withdrawn:
				e.withdraw(ctx, session, asks, who)
				return
			case !waited: // No question is left to wait for.
				return
			case !e.stillAsks(ctx, session, asks):
				return
			}
		}
	})
}

// stillAsks reports whether one of the questions is open. It also returns true if the store does
// not answer.
func (e *Era) stillAsks(ctx context.Context, session string, asks []string) bool {
	for _, ask := range asks {
		sctx, cancel := state.Bounded(ctx)
		asking, err := e.store.Asking(sctx, session, ask)
		cancel()
		if err != nil || asking != nil {
			return true
		}
	}
	return false
}

// withdraw answers the questions as withdrawn. The call continues here.
func (e *Era) withdraw(ctx context.Context, session string, asks []string, who mcp.Principal) {
	if !e.work.Enter() {
		return
	}
	defer e.work.Leave()
	for _, ask := range asks {
		if !e.stillAsks(ctx, session, []string{ask}) {
			continue
		}
		given := state.Answer{Withdrawn: true, Token: rand.Text(), By: who}
		_, release, err := e.calls.Answer(ctx, session, ask, given, who)
		switch {
		case err != nil:
			e.o.Logger.WarnContext(ctx, "a question that no longer needs an answer could not be withdrawn", "error", err)
		case release != nil:
			release()
		}
	}
}
