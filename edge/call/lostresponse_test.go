package call

import (
	"strings"
	"testing"
)

// lived is an event in the life of a call, its effects in words, and the state after it.
type lived struct {
	e    Event
	want string
	to   State
}

var started = lived{kind(Started), "run", Direct}

// live lets a new call live each of the lives.
func live(t *testing.T, lives map[string][]lived) {
	t.Helper()
	for name, life := range lives {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			c := newCall()
			for i, s := range life {
				if got := inWords(c.Step(s.e, nil)); got != s.want || c.state != s.to {
					t.Fatalf("step %d, event %d: %q and state %d, want %q and %d", i, s.e.Kind, got, c.state, s.want, s.to)
				}
			}
		})
	}
}

// A client that may have a response gets no other one because the store, which has lost it, has no room
// for it by then.
func TestOneResponseWithoutRoom(t *testing.T) {
	live(t, map[string][]lived{
		"lost while its reply was": {started, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {stored, "", Running},
			{returns, "free, commit 2@2+1>4", Finishing}, {kind(Returning), "", Finishing}, {failed(Unavailable), "timer", Finishing},
			{due(TimerRetry), "restore 1+1", Finishing}, {stored, "commit 2@2+1>4", Finishing}, {failed(NoRoom), "restore 2+2", Finishing},
			{failed(Unavailable), "timer", Finishing}, {due(TimerRetry), "restore 2+2", Finishing}, {stored, "keep, over 1", Over}},
		"lost with what it follows": {started, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {stored, "", Running},
			{returns, "free, commit 2@2+1>4", Finishing}, {failed(Unavailable), "timer", Finishing},
			{due(TimerRetry), "commit 2@2+1>4", Finishing}, {failed(Rewound), "restore 1+1", Finishing},
			{stored, "commit 2@2+1>4", Finishing}, {failed(NoRoom), "restore 2+2", Finishing}, {stored, "keep, over 1", Over}},
		"lost with events of the same step": {started, {begun, "", Running}, {emit, "commit 1@1+1>0", Running}, {emit2, "", Running},
			{returns, "free", Finishing}, {stored, "commit 2@2+2>4", Finishing}, {failed(Unavailable), "timer", Finishing},
			{kind(Returning), "", Finishing}, {due(TimerRetry), "restore 1+1", Finishing}, {stored, "commit 2@2+2>4", Finishing},
			{failed(NoRoom), "restore 2+3", Finishing}, {stored, "keep, over 1", Over}},
		"another owner has ended the call": {started, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{kind(Returning), "", Finishing}, {failed(NoRoom), "restore 1+1", Finishing}, {failed(Fenced), "keep, over 1", Over}},
	})
}

// A response that no client can have is replaced by a failure if the store refuses it.
func TestResponseIsReplaced(t *testing.T) {
	live(t, map[string][]lived{
		"no room": {started, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{failed(NoRoom), "free, commit 2@2+1>4", Finishing}, {stored, "keep, over 1", Over}},
		"no room, after a reply that was lost": {started, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{failed(Unavailable), "timer", Finishing}, {due(TimerRetry), "commit 1@1+1>4", Finishing},
			{failed(NoRoom), "free, commit 2@2+1>4", Finishing}, {stored, "keep, over 1", Over}},
		"no room, and the store lost writes before": {started, {begun, "", Running}, {kind(Returning), "restore 0+0", Running},
			{returns, "free", Finishing}, {stored, "commit 1@1+1>4", Finishing},
			{failed(NoRoom), "free, commit 2@2+1>4", Finishing}, {stored, "keep, over 1", Over}},
		"no room, and the store lacked what it follows": {started, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{failed(Rewound), "restore 0+0", Finishing}, {stored, "commit 1@1+1>4", Finishing},
			{failed(NoRoom), "free, commit 2@2+1>4", Finishing}, {stored, "keep, over 1", Over}},
		"too large, which it always was": {started, {begun, "", Running}, {returns, "free, commit 1@1+1>4", Finishing},
			{kind(Returning), "", Finishing}, {failed(Unavailable), "timer", Finishing}, {due(TimerRetry), "restore 0+0", Finishing},
			{stored, "commit 1@1+1>4", Finishing}, {failed(TooLarge), "free, commit 2@2+1>4", Finishing}, {stored, "keep, over 1", Over}},
	})
}
