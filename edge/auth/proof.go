package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// DPoP says whether tokens may, or must, be bound to a key of their client, which proves possession
// of the key with each request (RFC 9449).
type DPoP uint8

// The modes of DPoP.
const (
	// DPoPOff refuses tokens that are bound to a key.
	DPoPOff DPoP = iota
	// DPoPAccept requires proofs for bound tokens only.
	DPoPAccept
	// DPoPRequire refuses unbound tokens of issuers. API keys are not tokens of an issuer.
	DPoPRequire
)

// Proofs remembers used proofs. It is safe for concurrent use.
type Proofs interface {
	// Spend records that a caller used a proof, for the duration life. fresh is false if it was used
	// before. An error means that this is unknown; the response is then 503. A *mcp.Error of
	// KindLimit means that most proofs of the caller are recorded; the response is then 429.
	Spend(ctx context.Context, caller, id string, life time.Duration, most int) (fresh bool, err error)
}

const (
	// maxProofs bounds the proofs that one process remembers: enough for 3,700 requests a second.
	maxProofs = 256 << 10
	// maxProofsOfOne bounds those of one caller, on all replicas: enough for 900 requests a second.
	maxProofsOfOne = 64 << 10

	// headerProof is the header with the proof of a request (RFC 9449, section 4.1), in the form of
	// http.Header.
	headerProof = "Dpop"
	// proofType is the header typ of a proof.
	proofType = "dpop+jwt"
	// maxProof bounds a proof, and maxProofID its claim jti, in bytes.
	maxProof, maxProofID = 8 << 10, 256
	// proofAge is the maximum age of a proof, proofAhead the maximum time by which its client's
	// clock may be ahead.
	proofAge, proofAhead = time.Minute, time.Minute
	// proofMargin is the time for which a proof is remembered after its expiry, because another
	// replica whose clock is behind still accepts it.
	proofMargin = 10 * time.Second
	// spendTimeout bounds the check whether a proof was used.
	spendTimeout = 2 * time.Second
)

// ProofAlgorithms are the accepted signature algorithms of proofs.
var ProofAlgorithms = DefaultAlgorithms

// errorProof is the error of RFC 9449, section 12.2, for an invalid proof.
const errorProof = "invalid_dpop_proof"

func badProof(text string) *refusal { return &refusal{reason: ReasonProof, text: text} }

var (
	errUnbound  = &refusal{reason: ReasonBound, text: "the access token is not bound to a key, so the proof has no effect: send it as Bearer"}
	errUnspent  = &refusal{reason: ReasonUnavailable, text: "the DPoP proof cannot be checked for reuse now: try again later, with a new one"}
	errProofs   = &refusal{reason: ReasonLimit, text: "the caller has used " + strconv.Itoa(maxProofsOfOne) + " DPoP proofs within about a minute, the limit: send requests more slowly"}
	errUnproved = &refusal{reason: ReasonBound, text: "this server accepts only access tokens bound to a key of their client (DPoP): get one, and send it with a proof"}
)

// boundTo returns the key that a token is bound to, as its SHA-256 thumbprint (RFC 9449, section
// 6.1); empty if none. It refuses a token that is bound in another way, or that claims to be bound
// without naming a key.
func boundTo(claims jwt.MapClaims) (thumbprint string, _ *refusal) {
	v, bound := claims["cnf"]
	if !bound {
		for _, name := range []string{"typ", "token_type"} {
			if kind, _ := claims[name].(string); strings.EqualFold(kind, schemeDPoP) {
				return "", errBound
			}
		}
		return "", nil
	}
	members, _ := v.(map[string]any)
	thumbprint, _ = members["jkt"].(string)
	if len(members) != 1 || len(thumbprint) != base64.RawURLEncoding.EncodedLen(sha256.Size) {
		return "", errBound
	}
	return thumbprint, nil
}

// prove returns why a request may not use a token because of the key that the token is bound to, or
// nil.
func (a *Authenticator) prove(r *http.Request, c credentials, v verified) *refusal {
	switch {
	case c.scheme == schemeBearer && v.boundTo != "":
		return errBound
	case c.scheme == schemeBearer && c.mode == DPoPRequire && !v.isKey:
		return errUnproved
	case c.scheme == schemeBearer:
		return nil
	case v.boundTo == "":
		return errUnbound
	}
	p, why := a.readProof(r, c.token, v.boundTo)
	if why != nil {
		return why
	}
	ctx, cancel := context.WithTimeout(r.Context(), spendTimeout)
	defer cancel()
	// The thumbprint and the claim contain no NUL.
	fresh, err := a.proofs().Spend(ctx, v.principal.Key(), v.boundTo+"\x00"+p.id, time.Until(p.issued.Add(proofAge))+proofMargin, maxProofsOfOne)
	switch {
	case err != nil && mcp.AsError(err).Kind == mcp.KindLimit:
		return errProofs
	case err != nil:
		return errUnspent
	case !fresh:
		return badProof("the DPoP proof was used before: make one for each request")
	}
	return nil
}

// proof is the content of a proof.
type proof struct {
	id     string
	issued time.Time
}

// proofParser parses proofs. readProof validates their claims.
var proofParser = jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithStrictDecoding(), jwt.WithValidMethods(ProofAlgorithms))

// readProof checks the proof of a request with a bound token (RFC 9449, section 4.3), except
// whether it was used before.
func (a *Authenticator) readProof(r *http.Request, token, thumbprint string) (p proof, _ *refusal) {
	values := r.Header[headerProof]
	switch {
	case len(values) == 0:
		return p, badProof("the access token is bound to a key, and the proof is missing: send one in the header DPoP")
	case len(values) > 1:
		return p, badProof("the header DPoP was sent " + strconv.Itoa(len(values)) + " times: send one proof")
	case len(values[0]) > maxProof:
		return p, badProof("the DPoP proof has " + strconv.Itoa(len(values[0])) + " bytes: the limit is " + strconv.Itoa(maxProof))
	case !isJWT(values[0]) || !unambiguous(values[0]):
		return p, badProof("the DPoP proof is not a valid JWT")
	}
	claims := jwt.MapClaims{}
	var why *refusal
	_, err := proofParser.ParseWithClaims(values[0], claims, func(t *jwt.Token) (any, error) {
		var k any
		k, why = proofKey(t, thumbprint)
		if why != nil {
			return nil, why
		}
		return k, nil
	})
	switch {
	case why != nil:
		return p, why
	case err != nil:
		return p, badProof("the DPoP proof's signature is not that of its key, or has an algorithm that is not accepted")
	}
	boundTimes(claims)
	hash := sha256.Sum256([]byte(token))
	want := base64.RawURLEncoding.EncodeToString(hash[:])
	method, _ := claims["htm"].(string)
	target, _ := claims["htu"].(string)
	ath, _ := claims["ath"].(string)
	p.id, _ = claims["jti"].(string)
	issued, err := claims.GetIssuedAt()
	switch {
	case method != r.Method:
		return p, badProof("the DPoP proof is for another method (htm) than the request's")
	case !a.isTarget(target, r.URL):
		return p, badProof("the DPoP proof is for another URL (htu) than the request's, which is this server's URL as in its metadata, with the request's path")
	case subtle.ConstantTimeCompare([]byte(ath), []byte(want)) == 0:
		return p, badProof("the DPoP proof is not for this access token (ath)")
	case p.id == "" || len(p.id) > maxProofID || strings.Contains(p.id, "\x00"):
		return p, badProof("the DPoP proof has no identifier (jti), or one that is too long")
	case err != nil || issued == nil:
		return p, badProof("the DPoP proof has no time of issue (iat)")
	}
	p.issued = issued.Time
	if age := time.Since(p.issued); age > proofAge || age < -proofAhead {
		return p, badProof("the DPoP proof is too old, or from the future (iat): make one for each request, and compare the clocks")
	}
	return p, nil
}

// secretMembers are the members of private and symmetric keys (RFC 7518, section 6).
var secretMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"}

// proofKey returns the key in a proof's header, which must have the thumbprint.
func proofKey(t *jwt.Token, thumbprint string) (public any, _ *refusal) {
	if typ, _ := t.Header["typ"].(string); !strings.EqualFold(typ, proofType) {
		return nil, badProof("the DPoP proof's header states another type than " + proofType + " (typ)")
	}
	for _, extension := range []string{"crit", "b64"} {
		if _, there := t.Header[extension]; there {
			return nil, badProof("the DPoP proof's header has extensions (crit, b64) that are not understood here")
		}
	}
	members, _ := t.Header["jwk"].(map[string]any)
	if members == nil {
		return nil, badProof("the DPoP proof's header has no key (jwk)")
	}
	for name := range members {
		// The key's parser ignores the case of names.
		if slices.Contains(secretMembers, strings.ToLower(name)) {
			return nil, badProof("the DPoP proof's header has a private key (jwk), which must stay secret: make another")
		}
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, badProof("the DPoP proof's key (jwk) cannot be read")
	}
	k, err := parseKey(raw)
	if err != nil {
		return nil, badProof("the DPoP proof's key (jwk) cannot be used to verify signatures")
	}
	if !fitsAlgorithm(t.Method.Alg(), k.public) || k.algorithm != "" && k.algorithm != t.Method.Alg() {
		return nil, badProof("the DPoP proof's signature has an algorithm that does not suit its key")
	}
	if found, ok := thumbprintOf(raw); !ok || subtle.ConstantTimeCompare([]byte(found), []byte(thumbprint)) == 0 {
		return nil, badProof("the DPoP proof has another key than the one that the access token is bound to")
	}
	return k.public, nil
}

// thumbprintOf returns the SHA-256 thumbprint of a public key (RFC 7638, section 3; RFC 8037,
// section 2).
func thumbprintOf(raw []byte) (thumbprint string, ok bool) {
	var m jwkset.JWKMarshal
	if json.Unmarshal(raw, &m) != nil {
		return "", false
	}
	// Members are in lexical order, and their values need no escapes in JSON.
	var text string
	switch m.KTY {
	case jwkset.KtyRSA:
		text = `{"e":"` + m.E + `","kty":"RSA","n":"` + m.N + `"}`
	case jwkset.KtyEC:
		text = `{"crv":"` + string(m.CRV) + `","kty":"EC","x":"` + m.X + `","y":"` + m.Y + `"}`
	case jwkset.KtyOKP:
		text = `{"crv":"` + string(m.CRV) + `","kty":"OKP","x":"` + m.X + `"}`
	default:
		return "", false
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:]), true
}

// isTarget reports whether the URL of a proof is that of a request (RFC 9449, section 4.3, without
// query and fragment). The request's URL is made from Options.Resource and its path, never from
// Host. A proxy may have cut off the path of the resource.
func (a *Authenticator) isTarget(claimed string, request *url.URL) bool {
	u, err := url.Parse(claimed)
	if err != nil || u.User != nil || u.Opaque != "" {
		return false
	}
	of := func(scheme, host, path string) string {
		if path == "" {
			path = "/"
		}
		return strings.ToLower(scheme) + "://" + canonicalHost(strings.ToLower(scheme), host) + path
	}
	r := a.resource
	prefix := strings.TrimRight(r.Path, "/")
	want, got := of(r.Scheme, r.Host, prefix+request.Path), of(u.Scheme, u.Host, u.Path)
	if got == want {
		return true
	}
	return prefix != "" && strings.HasPrefix(request.Path, prefix+"/") && got == of(r.Scheme, r.Host, request.Path)
}
