package model

// Bug is a fault that is planted on purpose.
type Bug int

// The bugs. NoBug is the zero value.
const (
	NoBug Bug = iota
	// Unfenced: writes of an earlier owner are taken.
	Unfenced
	// RepeatedWrites: a write that is sent again is applied again.
	RepeatedWrites
	// SkippedWrites: a write that does not follow is applied.
	SkippedWrites
	// LastAnswerCounts: a second answer replaces the first.
	LastAnswerCounts
	// AnyAnswerCompletes: the first answer runs the next round.
	AnyAnswerCompletes
	// RestoreOverrides: a Restore always wins.
	RestoreOverrides
	// RunningBeatsDone: a Restore revives a call that has ended.
	RunningBeatsDone
	// RestoreForgetsLog: a Restore brings no entries.
	RestoreForgetsLog
	// RestoreRenumbers: a Restore gives entries new places.
	RestoreRenumbers
	// EpochsCount: epochs have no random bits.
	EpochsCount
)

func (m *Medium) bug(b Bug) bool { return m.Bug == b }
