package simulation

import (
	"context"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

// bug is a fault planted on purpose, which the simulation must find.
type bug int

const (
	noBug bug = iota
	unfenced
	repeatedWrites
	skippedWrites
	lastAnswerCounts
	anyAnswerCompletes
	restoreOverrides
	runningBeatsDone
	restoreForgetsLog
	epochsCount
	unsafeRunsAgain
	forgetProgress
	untidy
	runBeforeMark
	twoResponses
	regroups
	restoreRenumbers
	givesUpWrites
	ignoreRewound
	noNotice
	keepNothing
	readersForgetEpoch
	answersForgotten
	trustsLateReplies
	placesAgain
	beginsAnew
	cancelsNothing
	lapsesWhileAway
	deleteLeavesCalls
	deleteLeavesRunning
	fencedGoesOn
	drainsNothing
	roundNotRepeated
	// These are of batches.
	batchAnsweredTwice
	memberLost
	endsWithFirst
	batchPlacesAgain
	memberAnsweredForAnother
	// These are of tasks.
	cancelLost
	taskEndsTwice
	taskRunsTwice
	taskUnwritten
	taskAnswerLost
	taskCancelBeforeEnd
	listForgets
	approvalLost
	approvalTwice
	jobLeft
	drainLeavesEnds
	jobLeftBehind
	taskAnswersForgotten
	bugCount
)

var bugNames = [bugCount]string{
	unfenced:                 "writes of an earlier owner are taken",
	repeatedWrites:           "a write that is sent again is applied again",
	skippedWrites:            "a write that does not follow is applied",
	lastAnswerCounts:         "a second answer replaces the first",
	anyAnswerCompletes:       "the first answer runs the next round",
	restoreOverrides:         "a Restore always wins",
	runningBeatsDone:         "a Restore revives a call that has ended",
	restoreForgetsLog:        "a Restore brings no entries",
	epochsCount:              "epochs have no random bits",
	unsafeRunsAgain:          "calls that are not safe are run again",
	forgetProgress:           "progress starts anew after a takeover",
	untidy:                   "what a failed Begin left stays",
	runBeforeMark:            "the backend is called before the record says so",
	twoResponses:             "the response is written twice",
	regroups:                 "a write is changed",
	restoreRenumbers:         "a Restore gives entries new places",
	givesUpWrites:            "a write whose reply was lost counts as made",
	ignoreRewound:            "a writer goes on though the store has lost writes",
	noNotice:                 "nobody hears that the store was away",
	keepNothing:              "nothing is kept of calls that have ended",
	answersForgotten:         "an answer to a question that was lost is forgotten",
	trustsLateReplies:        "a reply that was under way while the store was away is trusted",
	placesAgain:              "places of a refused write are given out again",
	beginsAnew:               "a Begin that is sent again is another",
	cancelsNothing:           "a cancellation of a machine that is over by then is lost",
	lapsesWhileAway:          "leases lapse while the store is away",
	deleteLeavesCalls:        "the store keeps the calls of a deleted session",
	deleteLeavesRunning:      "calls of a deleted session run on",
	fencedGoesOn:             "an owner that was superseded goes on",
	drainsNothing:            "a drain does not wait for what runs",
	roundNotRepeated:         "a round that may be run again ends with its replica",
	batchAnsweredTwice:       "a Restore repeats the responses of a batch",
	memberLost:               "calls of a batch are lost with their replica",
	endsWithFirst:            "a batch ends with the first of its calls",
	batchPlacesAgain:         "places in the log of a batch are given out again",
	memberAnsweredForAnother: "an answer goes to another call of the batch",
	cancelLost:               "the cancellation of a task is lost",
	taskEndsTwice:            "a task ends twice",
	taskRunsTwice:            "a task is run twice after a takeover",
	taskUnwritten:            "a task is acknowledged that was not written",
	taskAnswerLost:           "an answer to a task is acknowledged and lost",
	taskCancelBeforeEnd:      "the cancellation of a task is acknowledged before it ends",
	listForgets:              "a task is missing in the list",
	approvalLost:             "a decision on an approval is acknowledged and lost",
	approvalTwice:            "a second decision on an approval is acknowledged",
	jobLeft:                  "the replica that cancels a task does not know its job",
	drainLeavesEnds:          "a drain does not wait until the ends of runs are stored",
	jobLeftBehind:            "the replica that was to call the backend leaves the job of a cancelled task",
	taskAnswersForgotten:     "an answer to a question of a task that was lost is forgotten",
	readersForgetEpoch:       "readers take the log's epoch for theirs",
}

// inMedium are the bugs that the medium has.
var inMedium = map[bug]model.Bug{
	unfenced: model.Unfenced, repeatedWrites: model.RepeatedWrites, skippedWrites: model.SkippedWrites,
	lastAnswerCounts: model.LastAnswerCounts, anyAnswerCompletes: model.AnyAnswerCompletes,
	restoreOverrides: model.RestoreOverrides, runningBeatsDone: model.RunningBeatsDone,
	restoreForgetsLog: model.RestoreForgetsLog, restoreRenumbers: model.RestoreRenumbers, epochsCount: model.EpochsCount,
	lapsesWhileAway: model.LapsesWhileAway, deleteLeavesCalls: model.DeleteLeavesCalls,
	batchAnsweredTwice: model.RestoreRepeats, endsWithFirst: model.EndsWithFirst,
	batchPlacesAgain: model.BatchPlacesAgain, taskEndsTwice: model.EndsTwice,
}

// kindOf is the kind of histories in which a bug is looked for.
func kindOf(b bug) kind {
	switch {
	case b >= cancelLost:
		return ofTasks
	case b >= batchAnsweredTwice:
		return ofBatches
	}
	return ofCalls
}

func (w *world) bugs(b bug) bool { return w.bug == b }

// spoilt is a write as a replica with the bug sends it.
func (x *wire) spoilt(sent *medium.Write) *medium.Write {
	w, write := x.r.w, *sent
	if len(write.Begin) > 0 && w.bugs(beginsAnew) {
		first := *write.Begin[0]
		if _, again := x.begun[first.ID]; again {
			first.Epoch = medium.EpochOf(first.Epoch.Counter(), w.draw32())
			write.Begin = []*medium.Record{&first}
		}
		x.begun[first.ID] = first.Epoch
	}
	if write.Next == medium.NextDone && len(write.Entries) > 0 && w.bugs(twoResponses) && w.maybe(2) {
		write.Entries = append(write.Entries[:len(write.Entries):len(write.Entries)], write.Entries[len(write.Entries)-1:]...)
	}
	if len(write.Entries) > 1 && w.bugs(regroups) { // A part of the write is left for later.
		write.Seq++
		write.Entries = write.Entries[1:]
	}
	if len(write.Entries) > 0 && w.bugs(placesAgain) {
		last, ok := x.placed[write.Epoch]
		if !ok {
			last = write.Seq - 1
			x.placed[write.Epoch] = last
		}
		write.Seq = last + 1
	}
	return &write
}

// heard is the reply to a write as a replica with the bug takes it.
func (x *wire) heard(sent *medium.Write, err error) error {
	w, f := x.r.w, call.FaultOf(err)
	if sent.Call != "" && len(sent.Begin) == 0 && (f == call.Unavailable && w.bugs(givesUpWrites) || f == call.Rewound && w.bugs(ignoreRewound) || f == call.Fenced && w.bugs(fencedGoesOn)) {
		return nil
	}
	return err
}

// believed spoils a record as a replica with the bug takes it that has claimed a call.
func (x *wire) believed(r *medium.Record, lost bool) {
	if lost && (x.r.w.bugs(unsafeRunsAgain) || x.r.w.bugs(taskRunsTwice)) {
		r.Repeatable = true
	}
	if x.r.w.bugs(forgetProgress) {
		r.HasProgress = false
	}
	if lost && x.r.w.bugs(roundNotRepeated) && !strings.HasPrefix(string(r.State), "checkpoint") {
		r.Resumable = false
	}
}

// runsEnd waits until no backend runs a task here, as a drain with the bug does.
func (r *replica) runsEnd(ctx context.Context) error {
	for ctx.Err() == nil {
		idle := make(chan bool, 1)
		r.arrive(arrival{what: replicaEnds, do: func() { idle <- r.runs == 0 }})
		select {
		case over := <-idle:
			if over {
				return nil
			}
		case <-r.down:
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ctx.Err()
}

// misdirected is the question of another call that waits, if there is one, in place of a question.
func (w *world) misdirected(asked string) string {
	for _, r := range w.medium.Records() {
		for _, q := range r.Asked {
			if q.Answer == nil && r.Phase == state.PhaseWaiting && w.subject(q.ID) != w.subject(asked) {
				return q.ID
			}
		}
	}
	return asked
}
