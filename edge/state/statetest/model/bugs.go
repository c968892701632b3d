package model

// Bug is a fault that a test plants.
type Bug int

// The bugs. NoBug is the zero value.
const (
	NoBug Bug = iota
	// Unfenced: writes of an earlier owner are accepted.
	Unfenced
	// RepeatedWrites: a repeated write is applied again.
	RepeatedWrites
	// SkippedWrites: a write that does not follow the state is applied.
	SkippedWrites
	// LastAnswerCounts: a second answer replaces the first.
	LastAnswerCounts
	// AnyAnswerCompletes: the first answer runs the next round.
	AnyAnswerCompletes
	// RestoreOverrides: a Restore always wins.
	RestoreOverrides
	// RunningBeatsDone: a Restore revives a call that has ended.
	RunningBeatsDone
	// RestoreForgetsLog: a Restore restores no entries.
	RestoreForgetsLog
	// RestoreRenumbers: a Restore assigns entries new places.
	RestoreRenumbers
	// EpochsCount: epochs have no random bits.
	EpochsCount
	// LapsesWhileAway: replicas are lost that could not beat while the medium was away.
	LapsesWhileAway
	// DeleteLeavesCalls: the calls of a deleted session stay.
	DeleteLeavesCalls
	// EndsWithFirst: the log of a batch ends with the first of its calls.
	EndsWithFirst
	// RestoreRepeats: a Restore appends the entries that the log of a batch has.
	RestoreRepeats
	// BatchPlacesAgain: a claim of a call of a batch assigns the last place of the log again.
	BatchPlacesAgain
	// EndsTwice: a call that has ended takes another end from an earlier owner.
	EndsTwice
)

func (m *Medium) bug(b Bug) bool { return m.Bug == b }
