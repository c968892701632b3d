package medium

const (
	randomBits = 32
	// MaxCounter is the highest counter of an Epoch: the number of owners of one call that it can
	// count.
	MaxCounter = 1<<20 - 1
)

// Epoch numbers the owners of a call in 52 bits: a counter of 20 bits above 32 random bits. The
// claimer of a call draws the random bits, so two histories of a medium never have the same epoch,
// and a repeated claim is recognized by them. Of two epochs the higher number is later; of two with
// the same counter it wins. A step under an older epoch than the record's is fenced (Calls.Commit):
// memory/commit.go and redis/lua/commit.lua check it, and call/finish.go ends the machine. A double
// has 53 bits, so scripts and JSON hold an epoch exactly. Zero means no owner yet.
type Epoch uint64

// EpochOf returns the epoch with a counter and random bits.
func EpochOf(counter uint64, random uint32) Epoch { return Epoch(counter<<randomBits | uint64(random)) }

// Counter returns the number of owners that the call has had.
func (e Epoch) Counter() uint64 { return uint64(e) >> randomBits }

// Random returns the epoch's random bits.
func (e Epoch) Random() uint32 { return uint32(e) } // #nosec G115 -- the lower half

// Next returns the epoch of the next owner. At MaxCounter the counter stays, and only the random
// bits distinguish epochs.
func (e Epoch) Next(random uint32) Epoch { return EpochOf(min(e.Counter()+1, MaxCounter), random) }

// MaxAhead bounds how far the counter of a position's epoch may exceed the log's: the number of
// claims that a medium may have lost. A position further ahead is invalid.
const MaxAhead = 64
