//go:build servers

package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

const (
	// interval is the time between two calls: 100 a second.
	interval = 10 * time.Millisecond
	// wait is how long the server takes for a call, in milliseconds, so that 20 are always in flight.
	wait = 200
	// The codes of the edge's errors for a backend that cannot be reached, and for a call of which it is not known whether it took effect.
	unavailable, unknown = -31502, -31520
)

// load calls garden_tick 100 times a second.
type load struct {
	e    *edge
	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// answered has the ids of the calls with a result, refused those that the edge refused because the server is away, and
	// doubtful those that the server did not answer.
	answered, refused, doubtful map[string]bool
	// reasons has the messages of errors and how often each came.
	reasons map[string]int
	// lost are the calls that ended in any other way.
	lost []string
}

func startLoad(e *edge) *load {
	ctx, cancel := context.WithCancel(e.t.Context())
	l := &load{
		e: e, stop: cancel, done: make(chan struct{}),
		answered: map[string]bool{}, refused: map[string]bool{}, doubtful: map[string]bool{}, reasons: map[string]int{},
	}
	go func() {
		defer close(l.done)
		var calls sync.WaitGroup
		defer calls.Wait()
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				calls.Go(func() { l.call(fmt.Sprintf("call-%d", n)) })
			case <-ctx.Done():
				return
			}
		}
	}()
	e.t.Cleanup(func() {
		cancel()
		<-l.done
	})
	return l
}

// call makes one call. A call that takes longer than await.Patience is lost.
func (l *load) call(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	r, err := l.e.session.CallTool(ctx, &mcp.CallToolParams{
		Name: "garden_tick", Arguments: json.RawMessage(fmt.Sprintf(`{"id":%q,"wait":%d}`, id, wait)),
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed *jsonrpc.Error
	switch {
	case errors.As(err, &failed) && failed.Code == unavailable:
		l.refused[id] = true
		l.reasons[failed.Message]++
	case errors.As(err, &failed) && failed.Code == unknown:
		l.doubtful[id] = true
		l.reasons[failed.Message]++
	case err != nil:
		l.lost = append(l.lost, fmt.Sprintf("%s: %v", id, err))
	case r.IsError:
		l.lost = append(l.lost, fmt.Sprintf("%s: the tool says: %s", id, said(r)))
	case said(r) != fmt.Sprintf(`{"id":%q}`, id):
		l.lost = append(l.lost, fmt.Sprintf("%s: the result is %s", id, said(r)))
	default:
		l.answered[id] = true
	}
}

// answers is the number of calls with a result.
func (l *load) answers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.answered)
}

// awaitAnswers returns when some more calls have a result.
func (l *load) awaitAnswers() {
	l.e.t.Helper()
	before := l.answers()
	await.Until(l.e.t, "calls are answered", func() bool { return l.answers() >= before+5 })
}

// refusals is the number of refused calls.
func (l *load) refusals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refused)
}

// end stops the load and returns when all its calls have ended. It reports lost calls, calls that the server answered and that have no result,
// calls that have a result and that the server did not answer, and calls that the server answered twice.
func (l *load) end(s *server) {
	t := l.e.t
	t.Helper()
	l.stop()
	<-l.done
	for _, lost := range l.lost {
		t.Error(lost)
	}
	ticks := map[string]bool{}
	for _, id := range s.ticks() {
		if ticks[id] {
			t.Errorf("%s was made twice", id)
		}
		ticks[id] = true
		if !l.answered[id] {
			t.Errorf("%s was answered by the server, and has no result", id)
		}
	}
	for id := range l.answered {
		if !ticks[id] {
			t.Errorf("%s has a result, and the server has no such call", id)
		}
	}
	t.Logf("%d calls were answered, %d refused, %d in doubt: %v", len(l.answered), len(l.refused), len(l.doubtful), l.reasons)
}

// The health of a server changes under load: calls are answered or refused with a reason, and at most one health watch a second is opened.
func TestHealthFlaps(t *testing.T) {
	eachLanguage(t, func(t *testing.T, lang language) {
		s := serve(t, lang, serving)
		e := startEdge(t, s.reflected())
		began := time.Now()
		l := startLoad(e)
		l.awaitAnswers()
		for range 5 {
			s.setHealth(false)
			e.await("down")
			if why := e.lastError(); !strings.Contains(why, "NOT_SERVING") {
				t.Errorf("the backend is down: %s", why)
			}
			s.setHealth(true)
			e.await("ready")
			l.awaitAnswers()
		}
		for n := range 200 {
			s.setHealth(n%2 == 1)
		}
		e.await("ready")
		l.awaitAnswers()
		watches := s.watches()
		if most := 1 + int64(time.Since(began)/time.Second); watches > most {
			t.Errorf("%d health watches were opened in %v", watches, time.Since(began))
		}
		l.end(s)
		if len(l.refused) == 0 || len(l.doubtful) > 0 {
			t.Errorf("of a server that stays, %d calls were refused and %d are in doubt", len(l.refused), len(l.doubtful))
		}
		t.Logf("%d health watches in %v", watches, time.Since(began))
	})
}

// A server is restarted under load: the client has every answer that the server gave, other calls fail with a reason, and no stream of the edge,
// such as the health watch, keeps the server from ending.
func TestRestarts(t *testing.T) {
	eachLanguage(t, func(t *testing.T, lang language) {
		for _, health := range []string{unset, serving} {
			t.Run(health, func(t *testing.T) {
				s := serve(t, lang, health)
				e := startEdge(t, s.reflected())
				l := startLoad(e)
				for range 3 {
					l.awaitAnswers()
					refusals := l.refusals()
					s.stop()
					await.Until(t, "calls are refused", func() bool { return l.refusals() > refusals })
					s.start()
					e.await("ready")
				}
				l.awaitAnswers()
				l.end(s)
			})
		}
	})
}
