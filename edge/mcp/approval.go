package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// MethodApprove is the method of the question for an approval. It waits in a task and is not sent
// to a client.
const MethodApprove Method = "mcpedge/approve"

// ApprovalKey is the key of the question for an approval.
const ApprovalKey = OwnKeys + "approve"

// Approval describes a call that waits for the approval of another person. It is the params of the
// question for the approval.
type Approval struct {
	// Call is the digest of the call.
	Call []byte `json:"call"`
	// Names are those of the approvals that it waits for, and Digests their settings.
	Names   []string `json:"names"`
	Digests [][]byte `json:"digests"`
	// Requester is the caller, with the rights with which the call runs.
	Requester Principal `json:"requester"`
	// Tool is the canonical name of the tool, Shown the name that the client used. Backend and Set
	// are those of the call.
	Tool    string `json:"tool"`
	Shown   string `json:"shown"`
	Backend string `json:"backend"`
	Set     string `json:"set,omitempty"`
	// ReadOnly, Destructive, Idempotent and OpenWorld are the hints by which the policy decides.
	ReadOnly    bool `json:"readOnly,omitempty"`
	Destructive bool `json:"destructive,omitempty"`
	Idempotent  bool `json:"idempotent,omitempty"`
	OpenWorld   bool `json:"openWorld,omitempty"`
	// Arguments are those that the backend gets. They are for the policy, not for approvers.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Message is the text for approvers: the messages of the approvals in a fixed frame, with an
	// excerpt of the arguments that the client sent. It has no secrets that the redaction for the
	// audit finds, and no characters that cannot be printed.
	Message string `json:"message"`
	// Expires is until when the call waits.
	Expires time.Time `json:"expires"`
}

// Approver is who decided on an approval.
type Approver struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
	Client  string `json:"client,omitempty"`
}

// ApproverOf returns a principal as an approver.
func ApproverOf(p *Principal) Approver {
	return Approver{Issuer: p.Issuer, Subject: p.Subject, Client: p.Client}
}

// ApprovalEnd is the end of the wait for an approval.
type ApprovalEnd string

// The ends of a wait.
const (
	// ApprovalGranted: an approver granted some of the awaited approvals, or none of them is in
	// force any more.
	ApprovalGranted ApprovalEnd = "granted"
	// ApprovalRefused: an approver refused it.
	ApprovalRefused ApprovalEnd = "refused"
	// ApprovalExpired: it was not decided in time.
	ApprovalExpired ApprovalEnd = "expired"
	// ApprovalRevoked: the policy no longer allows the requester the call.
	ApprovalRevoked ApprovalEnd = "revoked"
)

// ApprovalVerdict is the answer to the question for an approval.
type ApprovalVerdict struct {
	End ApprovalEnd `json:"end"`
	// Call is that of the Approval that was decided on.
	Call []byte `json:"call,omitempty"`
	// By is the person who granted or refused.
	By Approver `json:"by,omitzero"`
	// Granted are the digests of the settings that By approves.
	Granted [][]byte `json:"granted,omitempty"`
	// Reason is that of a refusal. It may be empty.
	Reason string `json:"reason,omitempty"`
}

// Approved is an approval that a call had when it ran.
type Approved struct {
	Name string
	By   Approver
}

// IsPerson reports whether a principal is a person with an access token. It is false for an
// anonymous caller, a client that acts for itself, an API key and a certificate. The issuers of the
// last two have no scheme.
func (p *Principal) IsPerson() bool {
	return !p.Anonymous() && !p.SubjectIsClient && strings.Contains(p.Issuer, "://")
}

// SharesPerson reports whether two principals may be the same person: they have the same issuer,
// and a common subject or actor.
func (p *Principal) SharesPerson(q *Principal) bool {
	if p.Issuer != q.Issuer {
		return false
	}
	return p.Subject == q.Subject || p.Actor != "" && (p.Actor == q.Subject || p.Actor == q.Actor) || q.Actor != "" && q.Actor == p.Subject
}

// GivesSameRights reports whether two credentials of a caller differ in their id and expiry alone.
func (p *Principal) GivesSameRights(q *Principal) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return p.Key() == q.Key() && p.Client == q.Client && p.Actor == q.Actor && slices.Equal(p.Scopes, q.Scopes) && slices.Equal(p.Roles, q.Roles) &&
		maps.EqualFunc(p.Forwarded, q.Forwarded, same) && maps.EqualFunc(p.Claims, q.Claims, same)
}
