package simulation

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/tasks"
)

// taskClient is a client of one task, and what it knows of that.
type taskClient struct {
	request
	rules   *revision.Rules
	support mcp.TaskSupport
	// asked are its requests that have no response yet.
	asked []*taskRequest
	// task is its id; empty: the client has none.
	task string
	// status and result are the final ones that it was sent first, reads how often it has read them.
	status, result string
	reads          int
	// unknown counts the responses that there is no such task.
	unknown int
	// left: it was sent so while the store had lost the task with its session, and does not ask again.
	left bool
	// acknowledged is when a cancellation was acknowledged first; 0: none was.
	acknowledged time.Duration
	// expired: the store has deleted the task, some time after its end.
	expired bool
	// answering are the questions that it has begun to answer, approvals those that are for others.
	answering, approvals map[string]bool
	jobs                 jobs
	done                 bool
}

// taskRequest is a request of a client.
type taskRequest struct {
	r     *replica
	leave context.CancelFunc
	lost  func()
}

// errLost is what a client gets whose replica dies, or that leaves.
var errLost = errors.New("the connection is lost")

func (w *world) taskOf(id string) *taskClient {
	for _, k := range w.tasks {
		if k.id == id {
			return k
		}
	}
	return nil
}

// taskIn is the client of a task; nil: it does not know it yet, or there is none.
func (w *world) taskIn(task string) *taskClient {
	for _, k := range w.tasks {
		if k.task == task {
			return k
		}
	}
	return nil
}

// ask sends a request to any replica. got gets the response, or errLost.
func (k *taskClient) ask(m mcp.Method, params string, responses []mcp.InputResponse, got func(mcp.Reply, error)) {
	w := k.w
	caps := `{"elicitation":{}}`
	if k.rules.Stateless {
		caps = `{"elicitation":{},"extensions":{"` + mcp.ExtensionTasks + `":{}}}`
	}
	w.seq++
	c := &mcp.Call{ID: fmt.Sprint("call-", w.seq), Attempt: 1, Round: 1, Method: m, Responses: responses}
	c.Principal = mcp.Principal{Subject: "alice", Issuer: "test"}
	c.Client.Capabilities, _ = mcp.ParseCapabilities(json.RawMessage(caps))
	if err := c.Params.Parse(m, json.RawMessage(params), nil); err != nil {
		panic(err)
	}
	call := func(ctx context.Context, t *tasks.Tasks) (mcp.Reply, error) { return t.Call(ctx, k.rules, c, nil) }
	send(k, string(m), call, got)
}

// send has any replica serve something for the client of a task, or for another person. got gets the reply, or errLost.
func send[T any](k *taskClient, what string, serve func(context.Context, *tasks.Tasks) (T, error), got func(T, error)) {
	w := k.w
	var none T
	r := w.anyReplica()
	if r == nil {
		w.at(time.Second, clientGets, func() { got(none, errLost) })
		return
	}
	ctx, leave := context.WithCancel(context.Background())
	q := &taskRequest{r: r, leave: leave}
	over := func(reply T, err error) {
		i := slices.Index(k.asked, q)
		if i < 0 {
			return
		}
		k.asked = slices.Delete(k.asked, i, i+1)
		leave()
		w.logf("%s gets of r%d to %s: %s, %v", k.id, r.id, what, shown(reply), err)
		got(reply, err)
	}
	q.lost = func() { over(none, errLost) }
	k.asked = append(k.asked, q)
	r.soon(taskSends, func() { serveAt(ctx, r, k, serve, over) })
}

// shown is a reply in a trace.
func shown(reply any) (text string) {
	switch o := reply.(type) {
	case mcp.Reply:
		text = string(o.Result)
	case []*tasks.Waiting:
		for _, one := range o {
			text += one.Message + " "
		}
	}
	return text
}

// lost ends the requests at a replica, or all if it is nil.
func (k *taskClient) lost(r *replica) {
	for _, q := range slices.Clone(k.asked) {
		if r == nil || q.r == r {
			q.leave()
			if !k.w.over {
				q.lost()
			}
		}
	}
}

func (k *taskClient) later(do func()) { k.w.at(k.w.delay()*4, taskSends, do) }

// create calls the tool.
func (k *taskClient) create() {
	params := `{"name":"` + k.id + `"}`
	if !k.rules.Stateless {
		params = `{"name":"` + k.id + `","task":{}}`
	}
	k.w.logf("%s (safe %v, %+v, revision %s) is called: %+v", k.id, k.safe, k.support, k.rules.Version, k.plan)
	k.ask(mcp.MethodToolsCall, params, nil, func(reply mcp.Reply, err error) {
		var made struct {
			TaskID  string
			Task    struct{ TaskID string }
			Content []struct{ Text string }
		}
		_ = json.Unmarshal(reply.Result, &made)
		k.task = made.TaskID + made.Task.TaskID
		switch {
		case err != nil:
			k.w.judge.refused(k, "its creation", err)
			k.done = true // The loss is the client's to retry, as a new request.
		case k.task == "":
			k.done = true
			k.w.judge.plain(k, made.Content[0].Text)
		default:
			k.later(k.look)
		}
	})
}

func (k *taskClient) about() string { return `{"taskId":"` + k.task + `"}` }

// look reads the task, until it has seen its end a few times.
func (k *taskClient) look() {
	m := mcp.MethodTasksGet
	if !k.rules.Stateless {
		if k.w.maybe(2) {
			k.list()
		}
		if k.w.maybe(1) {
			m = mcp.MethodTasksResult
		}
	}
	ends := k.status != "" || k.acknowledged > 0
	k.ask(m, k.about(), nil, func(reply mcp.Reply, err error) { k.seen(m, reply, err, ends) })
}

// read is a task as its client is sent it, or the result of one.
type read struct {
	Status        string
	StatusMessage string
	Result        struct{ Content []struct{ Text string } }
	Error         struct{ Message string }
	InputRequests map[string]json.RawMessage
	Content       []struct{ Text string }
}

// seen takes the response to a read. ends: the client knew that the task has ended when it sent that.
func (k *taskClient) seen(m mcp.Method, reply mcp.Reply, err error, ends bool) {
	w := k.w
	var got read
	_ = json.Unmarshal(reply.Result, &got)
	switch {
	case errors.Is(err, errLost):
	case err != nil && strings.Contains(err.Error(), "there is no task"):
		if k.unknown++; !w.judge.unknown(k) || k.unknown > 12 {
			k.done = true
			return
		}
	case err != nil: // The task's own failure is read by the next tasks/get.
		w.judge.refused(k, string(m), err)
	case reply.Input != nil:
		for _, q := range reply.Input.Requests {
			w.judge.hidden(k, q.Key)
		}
		k.answerResult(reply.Input.Requests)
		return
	case m == mcp.MethodTasksResult:
		k.ended("completed", got.Content[0].Text)
	case got.Status == "completed" && len(got.Result.Content) > 0:
		k.ended(got.Status, got.Result.Content[0].Text)
	case got.Status == "failed":
		k.ended(got.Status, cmp.Or(got.Error.Message, got.StatusMessage))
	case got.Status == "completed", got.Status == "cancelled":
		k.ended(got.Status, "")
	default:
		w.judge.goesOn(k, got.Status, ends)
		for _, key := range slices.Sorted(maps.Keys(got.InputRequests)) {
			w.judge.hidden(k, key)
			k.answer(key)
		}
	}
	if k.reads > 2 {
		k.finish()
		return
	}
	k.later(k.look)
}

// ended takes an end of the task that the client was sent.
func (k *taskClient) ended(status, result string) {
	k.w.judge.status(k, status, result)
	if k.status == "" {
		k.status = status
	}
	if k.result == "" {
		k.result = result
	}
	k.reads++
}

// finish leaves the task, or waits until it has expired.
func (k *taskClient) finish() {
	w := k.w
	writes := func(r *replica) bool { return r.alive && r.tasks.Unended() > 0 }
	switch {
	case k.expired || !w.expires:
		k.done = true
		return
	case slices.ContainsFunc(w.all, writes): // No task expires while a replica may still send its last step again.
		k.later(k.finish)
		return
	case w.all[0].wire.view.Delete(context.Background(), k.task) != nil:
		k.done = true
		return
	}
	w.logf("%s expires", k.id)
	k.expired = true
	k.later(k.look)
}

// answer answers a question by tasks/update, as often as it is asked. A few clients cancel the task instead.
func (k *taskClient) answer(key string) {
	w := k.w
	if k.answering[key] {
		return
	}
	k.answering[key] = true
	if w.maybe(5) {
		w.at(w.delay(), taskSends, k.cancel)
	}
	for _, how := range []struct {
		text string
		odds int
		late time.Duration
	}{{"yes to ", 0, 8}, {"no to ", 3, 8}, {"late to ", 3, 16}} {
		if w.maybe(how.odds) {
			w.at(w.delay()*how.late, taskSends, func() { k.give(key, how.text+key) })
		}
	}
}

// give sends an answer, again while it is not acknowledged.
func (k *taskClient) give(key, text string) {
	if k.done || k.cancelled {
		return
	}
	g := k.note(key, text)
	params, _ := json.Marshal(map[string]any{"taskId": k.task, "inputResponses": map[string]any{key: answerOf(text)}})
	if !k.rules.Stateless {
		return // Its questions are answered in tasks/result.
	}
	k.ask(mcp.MethodTasksUpdate, string(params), nil, func(_ mcp.Reply, err error) {
		switch {
		case err == nil && g.taken == 0:
			g.taken = k.w.now
		case err != nil:
			k.w.judge.refused(k, "an answer", err)
			k.w.at(time.Second, taskSends, func() { k.give(key, text) })
		}
	})
}

// note notes an answer that is sent.
func (k *taskClient) note(key, text string) *given {
	g := k.given[text]
	if g == nil {
		g = &given{ask: key, sent: k.w.now}
		k.given[text] = g
	}
	return g
}

// answerResult answers the questions that tasks/result asks, in its next round at any replica.
func (k *taskClient) answerResult(asks []mcp.InputRequest) {
	k.w.at(k.w.delay()*8, taskSends, func() {
		var responses []mcp.InputResponse
		if !k.cancelled {
			for _, q := range asks {
				text := fmt.Sprintf("yes-%d to %s", k.w.draw32(), q.Key)
				k.note(q.Key, text)
				responses = append(responses, mcp.InputResponse{Key: q.Key, Method: q.Method, Result: answerOf(text)})
			}
		}
		k.ask(mcp.MethodTasksResult, k.about(), responses, func(reply mcp.Reply, err error) { k.seen(mcp.MethodTasksResult, reply, err, false) })
	})
}

// cancel sends tasks/cancel, again while it has no response.
func (k *taskClient) cancel() {
	if k.task != "" && !k.done && !k.cancelled {
		k.cancelled = true
		k.cancelling()
		k.sendCancel()
	}
}

func (k *taskClient) sendCancel() {
	if k.done {
		return
	}
	k.w.logf("%s is cancelled", k.id)
	k.ask(mcp.MethodTasksCancel, k.about(), nil, func(reply mcp.Reply, err error) {
		var got read
		_ = json.Unmarshal(reply.Result, &got)
		switch {
		case err == nil:
			k.w.judge.acknowledged(k, got.Status)
		case strings.Contains(err.Error(), "cannot be cancelled"):
		case strings.Contains(err.Error(), "there is no task"):
			if k.w.judge.unknown(k) { // Replicas may restore it.
				k.w.at(time.Second, taskSends, k.sendCancel)
			}
		default:
			k.w.judge.refused(k, cancellation, err)
			k.w.at(time.Second, taskSends, k.sendCancel)
		}
	})
}
