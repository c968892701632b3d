package auth

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Refusals returns the reasons for which tokens with these claims, a JSON object, are refused at an
// endpoint, such as /mcp or that of a set. It ignores the signature. It checks the issuer and, for
// a configured one, times, kind, audience and key. Missing claims count as valid; a missing issuer
// means the first one. nil means that no reason is known. It is for explanations.
func (a *Authenticator) Refusals(raw []byte, endpoint string) (why []error) {
	claims := jwt.MapClaims{}
	if json.Unmarshal(raw, &claims) != nil || claims == nil || len(a.order) == 0 {
		return nil
	}
	i := a.order[0]
	if name, there := claims["iss"]; there {
		var r *refusal
		if i, r = a.issuerOf(claims); r != nil {
			return []error{fmt.Errorf("iss %s: %w; auth.issuers has %s", claimText(name), r, a.issuerNames())}
		}
	}
	boundTimes(claims)
	if err := i.answers.Validate(claims); err != nil {
		why = append(why, fmt.Errorf("%s: %w", timesOf(claims), validity(err)))
	}
	if r := checkKind(claims); r != nil {
		why = append(why, r)
	}
	if audience, there := claims["aud"]; there {
		list, err := claims.GetAudience()
		own, accepted := i.accepts(list)
		if err != nil || !accepted || own != nil && a.checkEndpoint(verified{audiences: own}, endpoint) != nil {
			why = append(why, fmt.Errorf("aud %s: %w; accepted is %s", claimText(audience), errAudience, strings.Join(a.acceptedAt(i, endpoint), ", ")))
		}
	}
	if key, r := boundTo(claims); r != nil || key != "" && a.dpop == DPoPOff {
		why = append(why, errBound)
	}
	return why
}

// acceptedAt returns the audiences that an endpoint accepts from an issuer.
func (a *Authenticator) acceptedAt(i *issuer, endpoint string) []string {
	if i.sets == nil || !i.o.audiencesByDefault {
		return i.o.Audiences
	}
	set := i.sets.Load().byEndpoint[endpoint]
	switch {
	case set == nil:
		return i.o.Audiences
	case set.AcceptRoot:
		return append(set.audiences.list(), i.o.Audiences...)
	}
	return set.audiences.list()
}

// issuerNames returns the URLs of the issuers, separated by commas.
func (a *Authenticator) issuerNames() string {
	names := make([]string, len(a.order))
	for i := range a.order {
		names[i] = a.order[i].o.URL
	}
	return strings.Join(names, ", ")
}

// maxShown is the maximum size of a claim's JSON in an explanation, in bytes.
const maxShown = 200

// claimText returns the JSON of a claim, shortened to maxShown.
func claimText(claim any) string {
	raw, err := json.Marshal(claim)
	if err != nil {
		return "?"
	}
	if len(raw) > maxShown {
		return strings.ToValidUTF8(string(raw[:maxShown]), "") + "…"
	}
	return string(raw)
}

// timesOf returns the period of validity of the claims, as far as it is readable.
func timesOf(claims jwt.MapClaims) string {
	var all []string
	for _, one := range []struct {
		name string
		read func() (*jwt.NumericDate, error)
	}{{"nbf", claims.GetNotBefore}, {"exp", claims.GetExpirationTime}} {
		if at, err := one.read(); err == nil && at != nil {
			all = append(all, one.name+" "+at.UTC().Format(time.RFC3339))
		}
	}
	if all == nil {
		return "nbf, exp"
	}
	return strings.Join(all, ", ")
}
