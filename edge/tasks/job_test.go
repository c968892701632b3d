package tasks

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// TestJobOnItsWay: a task is lost while the write with the state of its job is on its way. The job is cancelled only if the store
// refuses the write: otherwise the owner that follows has the state.
func TestJobOnItsWay(t *testing.T) {
	for name, x := range map[string]struct {
		err  error
		want bool
	}{
		"stored":        {},
		"perhaps there": {err: state.ErrUnavailable},
		"refused":       {err: state.ErrFenced, want: true},
	} {
		var j job
		c, w := &mcp.Call{ID: "c"}, &medium.Write{State: []byte("job 7")}
		got := []*mcp.Call{j.keep(c, true)}
		j.stores(w)
		if got = append(got, j.finish(call.HowLost, nil)); got[1] != nil {
			t.Errorf("%s: the job is cancelled before the store has replied", name)
		}
		got = append(got, j.stored(w, x.err), j.stored(w, x.err), j.finish(call.HowLost, nil))
		n := 0
		for _, c := range got {
			if c != nil {
				n++
			}
		}
		if (n == 1) != x.want || n > 1 {
			t.Errorf("%s: it was cancelled %d times", name, n)
		}
	}
}

// TestJobOfARecord: a task is cancelled by its record at another replica, which cancels the job if the
// record shows it between two rounds, or in one that may be repeated. Otherwise the owner does.
func TestJobOfARecord(t *testing.T) {
	const here, there = true, false
	kept := func(resumable bool, next medium.Next) *medium.Write {
		return &medium.Write{State: []byte("job 7"), Resumable: resumable, Next: next}
	}
	mark := &medium.Write{Next: medium.NextDispatched}
	begins := func(resumable bool) *medium.Write {
		return &medium.Write{Begin: []*medium.Record{{State: []byte("job 7"), Resumable: resumable}}}
	}
	type step struct {
		w   *medium.Write
		err error
	}
	for name, x := range map[string]struct {
		steps []step
		want  bool
	}{
		"nothing stored":                      {want: here},
		"the state refused":                   {[]step{{kept(false, medium.NextReady), state.ErrFenced}}, here},
		"ready":                               {[]step{{kept(false, medium.NextReady), nil}}, there},
		"waits":                               {[]step{{kept(false, medium.NextWaiting), nil}}, there},
		"perhaps ready":                       {[]step{{kept(false, medium.NextReady), state.ErrUnavailable}}, there},
		"called":                              {[]step{{kept(false, medium.NextReady), nil}, {mark, nil}}, here},
		"called, refused":                     {[]step{{kept(false, medium.NextReady), nil}, {mark, state.ErrFenced}}, there},
		"called in the write with the state":  {[]step{{kept(false, medium.NextDispatched), nil}}, here},
		"called, repeatable":                  {[]step{{kept(true, medium.NextReady), nil}, {mark, nil}}, there},
		"called with the state, repeatable":   {[]step{{kept(true, medium.NextDispatched), nil}}, there},
		"called, and progress stored":         {[]step{{kept(false, medium.NextReady), nil}, {mark, nil}, {&medium.Write{}, nil}}, here},
		"begins in the round":                 {[]step{{begins(false), nil}}, here},
		"begins in the round, repeatable":     {[]step{{begins(true), nil}}, there},
		"begins, repeatable, is refused":      {[]step{{begins(true), state.ErrNotFound}}, here},
		"a checkpoint of the round before it": {[]step{{kept(true, medium.NextSame), nil}}, there},
	} {
		for _, loses := range []string{"after", "while", "before"} { // when the task is lost: the last write is stored, on its way, not sent
			var j job
			c, lost := &mcp.Call{ID: "c"}, &call.Reply{Cancelled: true}
			got := []*mcp.Call{}
			keep := func() { got = append(got, j.keep(c, false)) }
			if loses != "before" {
				keep()
			}
			for i, s := range x.steps {
				j.stores(s.w)
				if i == len(x.steps)-1 && loses == "while" {
					decides := len(s.w.State) > 0 || s.w.Next == medium.NextDispatched
					if got = append(got, j.finish(call.HowLost, lost)); decides && got[len(got)-1] != nil {
						t.Errorf("%s: the job is cancelled before the store has replied", name)
					}
				}
				got = append(got, j.stored(s.w, s.err))
			}
			if got = append(got, j.finish(call.HowLost, lost)); loses == "before" {
				keep()
			}
			n := 0
			for _, c := range got {
				if c != nil {
					n++
				}
			}
			if (n == 1) != x.want || n > 1 {
				t.Errorf("%s, lost %s: it was cancelled %d times here", name, loses, n)
			}
		}
	}
}

// TestJob: a job is cancelled once, if its task was cancelled, or if the task was lost to a replica
// that cannot know the job.
func TestJob(t *testing.T) {
	state7 := &medium.Write{State: []byte("job 7")}
	ended := &call.Reply{Cancelled: true}
	for name, x := range map[string]struct {
		private bool
		stored  *medium.Write
		err     error
		how     call.How
		reply   *call.Reply
		want    bool
	}{
		"cancelled":                     {how: call.HowEnded, reply: ended, want: true},
		"cancelled, private":            {private: true, how: call.HowEnded, reply: ended, want: true},
		"completed":                     {private: true, how: call.HowEnded, reply: &call.Reply{}},
		"ended without a reply":         {private: true, how: call.HowEnded},
		"lost, known to others":         {how: call.HowLost},
		"lost, private":                 {private: true, how: call.HowLost, want: true},
		"lost, its state stored":        {private: true, stored: state7, how: call.HowLost},
		"lost, its state refused":       {private: true, stored: state7, err: state.ErrFenced, how: call.HowLost, want: true},
		"lost, its state perhaps there": {private: true, stored: state7, err: state.ErrUnavailable, how: call.HowLost},
		"lost, another write stored":    {private: true, stored: &medium.Write{}, how: call.HowLost, want: true},
		"waits":                         {private: true, how: call.HowParked},
	} {
		for _, late := range []bool{false, true} { // before and after the round returns
			var j job
			c := &mcp.Call{ID: "c"}
			got := []*mcp.Call{}
			if !late {
				got = append(got, j.keep(c, x.private))
			}
			if x.stored != nil {
				j.stored(x.stored, x.err)
			}
			got = append(got, j.finish(x.how, x.reply))
			if late {
				got = append(got, j.keep(c, x.private))
			}
			got = append(got, j.finish(x.how, x.reply)) // once
			n := 0
			for _, c := range got {
				if c != nil {
					n++
				}
			}
			if (n == 1) != x.want || n > 1 {
				t.Errorf("%s, late %t: it was cancelled %d times", name, late, n)
			}
		}
	}
}
