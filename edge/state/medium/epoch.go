package medium

const (
	randomBits = 32
	// MaxCounter bounds the owners of one call that an Epoch counts.
	MaxCounter = 1<<20 - 1
)

// Epoch numbers the owners of a call: one number of 52 bits, a counter of 20 above 32 random bits. Whoever claims a call
// draws the random bits, so two histories of a medium never count the same, and who repeats its claim is known by
// them. Of two epochs the higher number is the later one, or of two with one counter that which wins. A double has 53
// bits: scripts and JSON hold an epoch without rounding. Zero: no owner yet. Epochs without random bits, as releases before
// counted, have the counter 0.
type Epoch uint64

// EpochOf is the epoch with a counter and random bits.
func EpochOf(counter uint64, random uint32) Epoch { return Epoch(counter<<randomBits | uint64(random)) }

// Counter is how many owners the call had.
func (e Epoch) Counter() uint64 { return uint64(e) >> randomBits }

// Random are the bits that its owner drew.
func (e Epoch) Random() uint32 { return uint32(e) } // #nosec G115 -- the lower half

// Next is the epoch of the next owner. The counter stays at its end, should it come there: then the random bits alone tell
// epochs apart.
func (e Epoch) Next(random uint32) Epoch { return EpochOf(min(e.Counter()+1, MaxCounter), random) }

// MaxAhead bounds how far the counter of a position's epoch may be ahead of the log's: so many claims a medium may have
// lost. What is further ahead was made up.
const MaxAhead = 64
