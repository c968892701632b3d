package stateful

import (
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
)

const (
	// answerLife is how long an answer is kept while others are, and for how long after the store was away answers are
	// given again.
	answerLife = 10 * time.Second
	// answerPause is how often.
	answerPause = 500 * time.Millisecond
	// maxAnswers and maxAnswerBytes bound the answers that are kept; the oldest go first.
	maxAnswers, maxAnswerBytes = 1024, 4 << 20
)

// keptAnswers are the answers of late that did not make this replica the owner of their call: their clients were told that
// they were taken, and nobody would miss them. A store that fails over may have lost an answer that others are
// missing beside; or the question, which its author is yet to write again, so that the answer is unknown until then. So
// when the store has been away they are given again. Safe for concurrent use.
type keptAnswers struct {
	mu    sync.Mutex
	list  []givenAnswer
	bytes int
	// until is the end of giving them again; giving: a goroutine does.
	until  time.Time
	giving bool
}

// givenAnswer is an answer as the store was given it.
type givenAnswer struct {
	at           time.Time
	session, ask string
	answer       state.Answer // its token names it
	// due: it is to be given again while the store may have gone back.
	due bool
}

func (g *givenAnswer) size() int { return len(g.answer.Result) + len(g.answer.Error) }

// keep adds an answer. It returns whether the caller has to begin to give answers again.
func (x *keptAnswers) keep(g givenAnswer) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, g)
	x.bytes += g.size()
	drop := 0
	for i := range x.list {
		if len(x.list)-drop <= maxAnswers && x.bytes <= maxAnswerBytes && g.at.Sub(x.list[i].at) <= answerLife {
			break
		}
		x.bytes -= x.list[i].size()
		drop++
	}
	clear(x.list[:drop])
	x.list = x.list[drop:]
	return g.due && g.at.Before(x.until) && x.begin()
}

// returned notes that the store was away. It returns whether the caller has to begin to give answers again.
func (x *keptAnswers) returned(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = now.Add(answerLife)
	for i := range x.list {
		x.list[i].due = true
	}
	return len(x.list) > 0 && x.begin()
}

// begin returns whether nobody gives answers yet. x.mu is locked.
func (x *keptAnswers) begin() bool {
	begins := !x.giving
	x.giving = true
	return begins
}

// next returns the answers that are due; with none the goroutine that gives them has to end.
func (x *keptAnswers) next(now time.Time) (due []givenAnswer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, g := range x.list {
		if g.due && now.Before(x.until) {
			due = append(due, g)
		}
	}
	x.giving = len(due) > 0
	return due
}

// gave notes what an answer did: one that is taken stays, for when the store goes back once more.
func (x *keptAnswers) gave(g givenAnswer, outcome state.AnswerOutcome) {
	if outcome == state.AnswerUnknown {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range x.list {
		if x.list[i].answer.Token != g.answer.Token {
			continue
		}
		x.list[i].due = false
		if outcome != state.AnswerTaken {
			x.bytes -= g.size()
			x.list = append(x.list[:i:i], x.list[i+1:]...)
		}
		return
	}
}

// giveAgain gives the kept answers that are due, again and again, while there are any. The caller is inside the work gate.
func (e *Era) giveAgain() {
	for due := e.answers.next(time.Now()); len(due) > 0; due = e.answers.next(time.Now()) {
		for _, g := range due {
			outcome, release, err := e.tryAnswer(e.life, g.session, g.ask, g.answer)
			if err != nil && stateError(err).Kind == mcp.KindStateUnavailable {
				break // The store is away once more.
			}
			if err != nil {
				continue
			}
			if release != nil {
				release()
			}
			e.answers.gave(g, outcome)
		}
		if !e.sleep(answerPause) {
			return
		}
	}
}
