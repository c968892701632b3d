package telemetry

import "sync"

// Outcomes of questions for confirmation, in the metric Confirmations.
const (
	// ConfirmationAsked means that the user is asked.
	ConfirmationAsked = "asked"
	// ConfirmationAccepted, ConfirmationDeclined and ConfirmationDismissed are answers.
	ConfirmationAccepted  = "accepted"
	ConfirmationDeclined  = "declined"
	ConfirmationDismissed = "dismissed"
	// ConfirmationInvalid is an answer that is incomplete, an error, or none of the others.
	ConfirmationInvalid = "invalid"
	// ConfirmationRemembered means that the user is not asked, because an earlier answer is remembered.
	ConfirmationRemembered = "remembered"
	// ConfirmationUsed means that a question was answered again, or a round of a confirmed call sent again.
	ConfirmationUsed = "used"
	// ConfirmationUnacknowledged means that fewer replicas of Redis than are demanded acknowledged in time that a confirmation, or an
	// approval, is used: its call was not run.
	ConfirmationUnacknowledged = "unacknowledged"
)

// Outcomes of approvals by another person, in the same metric.
const (
	// ApprovalRequested means that a call waits for the approval.
	ApprovalRequested = "requested"
	// ApprovalGranted, ApprovalRefused, ApprovalExpired and ApprovalRevoked end the wait.
	ApprovalGranted = "granted"
	ApprovalRefused = "refused"
	ApprovalExpired = "expired"
	ApprovalRevoked = "revoked"
	// ApprovalDenied means that the call was refused at once, because it cannot wait.
	ApprovalDenied = "denied"
)

// maxConfirmations bounds the names and outcomes that are counted, each pair with a series of its own.
const maxConfirmations = 1024

type confirmation struct{ name, outcome string }

// confirmations counts confirmations, or approvals. The zero value has counted none.
type confirmations struct {
	mu sync.Mutex
	of map[confirmation]int64
}

// Confirmation counts an outcome of the confirmation, or of the approval, of a name. The counters of how a wait for an approval ends begin
// at 0 with the first wait, because a counter that appears with its first value has no increase. A nil Telemetry counts nothing.
func (t *Telemetry) Confirmation(name, outcome string) {
	if t == nil {
		return
	}
	t.confirmations.add(name, outcome, 1)
	if outcome == ApprovalRequested {
		for _, end := range []string{ApprovalGranted, ApprovalRefused, ApprovalExpired, ApprovalRevoked} {
			t.confirmations.add(name, end, 0)
		}
	}
}

func (c *confirmations) add(name, outcome string, n int64) {
	this := confirmation{name, outcome}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[confirmation]int64{}
	}
	if _, counted := c.of[this]; counted || len(c.of) < maxConfirmations {
		c.of[this] += n
	}
}

func (c *confirmations) observe(emit Emit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one, n := range c.of {
		emit(float64(n), AttrRule.String(one.name), AttrConfirmation.String(one.outcome))
	}
}
