package stateful

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// With Options.Optional, the id of a session without a record contains everything that the record
// needs: NONCE "." SEAL. The first use of the id creates the record under NONCE. From then on NONCE
// alone identifies the session, and SEAL is not read again, so that a session outlives the key that
// sealed its id.

const (
	// firstUseWithin is the maximum age of an id at its first use, which creates its record.
	firstUseWithin = 5 * time.Minute
	// clockSkew is the tolerated difference of replicas' clocks.
	clockSkew = time.Minute
	// maxSealedID bounds the length of a sealed id, in bytes, because servers and proxies bound the
	// headers of a request. A session whose id would be longer gets its record at once.
	maxSealedID = 2 << 10
	// idPurpose separates the keys of ids from other keys that are derived from the same key, and
	// from that key itself.
	idPurpose = "mcpedge session id"
	// gcmNonceSize is the size of a nonce of AES-GCM in bytes.
	gcmNonceSize = 12
)

// sealedSession is the sealed part of a session's id.
type sealedSession struct {
	Created      time.Time       `json:"t"`
	Version      string          `json:"v"`
	Set          string          `json:"s,omitempty"`
	Principal    []byte          `json:"p"` // the SHA-256 of the principal's key
	ClientInfo   json.RawMessage `json:"i,omitempty"`
	Capabilities json.RawMessage `json:"c,omitempty"`
	Digest       mcp.Digest      `json:"d"`
}

// ownerOf identifies a principal in a sealed id.
func ownerOf(p *mcp.Principal) []byte {
	sum := sha256.Sum256([]byte(p.Key()))
	return sum[:]
}

// idCipher makes the cipher of one id: AES-256-GCM with a key of its own, which is derived from NONCE by
// HKDF. So each key seals once, with a nonce of zeros.
func idCipher(id string) era.Cipher {
	return func(key []byte) (cipher.AEAD, []byte, error) {
		own, err := hkdf.Key(sha256.New, key, []byte(id), idPurpose, era.KeySize)
		if err != nil {
			return nil, nil, err
		}
		block, err := aes.NewCipher(own)
		if err != nil {
			return nil, nil, err
		}
		gcm, err := cipher.NewGCM(block)
		return gcm, make([]byte, gcmNonceSize), err
	}
}

// sealID returns the sealed id of a new session.
func sealID(keys era.Keys, s *state.Session) (string, error) {
	seal, err := keys.Seal(idCipher(s.ID), &sealedSession{
		Created: s.Created, Version: s.Version, Set: s.Set, Principal: ownerOf(&s.Principal),
		ClientInfo: s.ClientInfo, Capabilities: s.Capabilities, Digest: s.Digest,
	}, []byte(idPurpose))
	return s.ID + "." + seal, err
}

// openID returns the sealed part of an id. The error is for the log.
func openID(keys era.Keys, id, seal string) (*sealedSession, error) {
	b := new(sealedSession)
	return b, keys.Open(idCipher(id), seal, []byte(idPurpose), b)
}

// nonceOf returns the stored id of the session that a message names, and the seal of a sealed id.
// Both are empty if the message names none.
func (e *Era) nonceOf(named string) (id, seal string) {
	if e.ids == nil {
		return named, ""
	}
	id, seal, _ = strings.Cut(named, ".")
	return id, seal
}

// Ended records ended sessions as long as their ids could still create them. It is safe for
// concurrent use.
type Ended interface {
	// Spend records for the duration life that a session of an owner has ended. The error may be
	// once.ErrFull, or a *mcp.Error of KindLimit if most sessions of the owner are recorded.
	Spend(ctx context.Context, owner, id string, life time.Duration, most int) (fresh bool, _ error)
	// Spent reports whether Spend has recorded a session of an owner, and its time is not over.
	Spent(ctx context.Context, owner, id string) (bool, error)
}

const (
	// maxEnded bounds the ended sessions that one process remembers if replicas share no store.
	maxEnded = 256 << 10
	// maxEndedOfOne bounds the ended sessions of one principal, or of all anonymous callers. It is
	// sufficient for 180 ends a second.
	maxEndedOfOne = 64 << 10
)

// firstUses serializes the first uses of each id on this replica, because a look-up that finds
// nothing drops the copy that another one may just have created. It is safe for concurrent use.
type firstUses struct {
	// current maps ids to channels that are closed at the end of their use.
	current sync.Map
}

// begin waits until no other use of the id is current. An error is that of ctx.
func (f *firstUses) begin(ctx context.Context, id string) (end func(), _ error) {
	own := make(chan struct{})
	for {
		other, used := f.current.LoadOrStore(id, own)
		if !used {
			return func() {
				f.current.Delete(id)
				close(own)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lookUp returns the session with an id. With a seal it creates the record if the id is used first.
func (e *Era) lookUp(ctx context.Context, in *mcp.Incoming, id, seal string) (*localSession, *mcp.Error) {
	if held := e.sessions.get(id); seal == "" || held != nil && held.rec.Load() != nil {
		s, err := e.session(ctx, id)
		if seal == "" || !errors.Is(err, state.ErrNotFound) {
			return s, stateError(err)
		}
	}
	end, err := e.firstUses.begin(ctx, id)
	if err != nil {
		return nil, mcp.Errorf(mcp.KindCancelled, "the request was cancelled")
	}
	defer end()
	s, err := e.session(ctx, id)
	if !errors.Is(err, state.ErrNotFound) {
		return s, stateError(err)
	}
	return e.create(ctx, in, id, seal)
}

// create creates the record of a session whose id is used first, unless it has ended.
func (e *Era) create(ctx context.Context, in *mcp.Incoming, id, seal string) (*localSession, *mcp.Error) {
	b, err := openID(e.ids, id, seal)
	if err != nil {
		refused := sessionNotFound()
		refused.Reason = "session id: " + err.Error()
		return nil, refused
	}
	// Since a record lives at least SessionTTL after its creation, an id cannot create it again after
	// it has expired.
	if age := time.Since(b.Created); b.Set != in.Set || age > min(firstUseWithin, e.o.SessionTTL) || age < -clockSkew {
		return nil, sessionNotFound()
	}
	if !bytes.Equal(b.Principal, ownerOf(&in.Principal)) {
		return nil, e.foreign(ctx, in, id)
	}
	if err := e.wantNotEnded(ctx, in, id); err != nil {
		return nil, err
	}
	if err := e.chargeAddress(in); err != nil {
		return nil, err
	}
	s, err := e.newSession(ctx, in, &state.Session{
		ID: id, Version: b.Version, Set: b.Set, Principal: in.Principal, Address: in.Address,
		ClientInfo: b.ClientInfo, Capabilities: b.Capabilities, Digest: b.Digest, Created: b.Created,
	})
	if errors.Is(err, state.ErrExists) { // Another replica was first.
		s, err = e.session(ctx, id)
		return s, stateError(err)
	}
	if err != nil {
		return nil, e.notCreated(err)
	}
	if gone := e.wantNotEnded(ctx, in, id); gone != nil { // It ended at another replica before it was created here.
		sctx, cancel := state.Bounded(ctx)
		defer cancel()
		if err := e.store.Delete(sctx, id); err != nil {
			e.o.Logger.Warn("a session that has ended could not be deleted again", "error", err)
		}
		e.drop(s)
		return nil, gone
	}
	return s, nil
}

// foreign returns the error for a session of another principal, which is recorded.
func (e *Era) foreign(ctx context.Context, in *mcp.Incoming, id string) *mcp.Error {
	if err := e.o.Telemetry.Foreign(ctx, in, id); err != nil {
		return mcp.AsError(err)
	}
	return sessionNotFound()
}

// wantNotEnded returns the error for a session that has ended.
func (e *Era) wantNotEnded(ctx context.Context, in *mcp.Incoming, id string) *mcp.Error {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	ended, err := e.o.Ended.Spent(sctx, in.Principal.Key(), id)
	if ended {
		return sessionNotFound()
	}
	return e.stateError("it is not known whether a session has ended", err)
}

// noteEnd records the end of a session whose id could create it again. It must be called before the record is deleted. A transport that
// remembers sessions has no such ids.
func (e *Era) noteEnd(ctx context.Context, in *mcp.Incoming, rec *record) *mcp.Error {
	if e.ids == nil || !in.PerRequest || rec.Created.IsZero() {
		return nil
	}
	left := firstUseWithin - time.Since(rec.Created) + 2*clockSkew // other replicas may have another TTL
	if left <= 0 {
		return nil
	}
	_, err := e.o.Ended.Spend(ctx, rec.Principal.Key(), rec.ID, left, maxEndedOfOne)
	var me *mcp.Error
	if errors.Is(err, once.ErrFull) || errors.As(err, &me) && me.Kind == mcp.KindLimit {
		return &mcp.Error{Kind: mcp.KindLimit, Err: err, RetryAfter: time.Minute,
			Message: "too many sessions have ended in the last minutes to remember another: try again later, or leave the session to its expiry"}
	}
	return e.stateError("the end of a session could not be recorded", err)
}

// chargeAddress counts a session that an anonymous caller begins.
func (e *Era) chargeAddress(in *mcp.Incoming) *mcp.Error {
	if !in.Principal.Anonymous() || e.addresses.begin(in.Address) {
		return nil
	}
	e.o.Telemetry.Hit(telemetry.BoundAddressSessions)
	return mcp.Errorf(mcp.KindLimit,
		"your address has begun %d sessions, as many as it may, and regains one every %s: use those it has, or try again later",
		e.addresses.limit, e.addresses.pause())
}
