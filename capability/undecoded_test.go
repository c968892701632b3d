package capability

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

// loanCode decodes itself. Its errors do not name the argument.
type loanCode string

func (c *loanCode) UnmarshalText(text []byte) error {
	if !strings.HasPrefix(string(text), "L-") {
		return errors.New("a loan code begins with L-")
	}
	*c = loanCode(text)
	return nil
}

type lending struct {
	Since time.Time             `json:"since,omitzero"`
	Code  *loanCode             `json:"code,omitempty"`
	Fine  *big.Int              `json:"fine,omitempty"`
	Inner struct{ D time.Time } `json:"inner,omitzero"`
	Rows  []lending             `json:"rows,omitempty"`
	Days  map[string]time.Time  `json:"days,omitempty"`
	Files [][]byte              `json:"files,omitempty"`
	Count int                   `json:"count,omitempty"`
}

// An error of a type that decodes itself names the argument, at any depth.
func TestErrorsOfOwnDecodersNameTheArgument(t *testing.T) {
	decode := decoderOf[lending]("t", true, false)
	const date = `must be a date and time of RFC 3339, such as "2026-01-31T15:04:05Z", not `
	deep := strings.Repeat(`{"rows":[`, 100) + `{"code":"x"}` + strings.Repeat(`]}`, 100)
	for arguments, want := range map[string]string{
		`{"since":"2026-01-31T15:04:05Z","code":"L-1","fine":7}`: "",
		`{"since":"2026-01-31"}`:                                 `the argument "since" ` + date + `"2026-01-31"`,
		`{"count":1.0,"since":7}`:                                `the argument "since" ` + date + `7`,
		`{"code":"x"}`:                                           `the argument "code" does not fit: a loan code begins with L-`,
		`{"code":"L-1","inner":{"D":"noon"}}`:                    `the argument "inner.D" ` + date + `"noon"`,
		`{"rows":[{},{"code":"x"}]}`:                             `the argument "rows.1.code" does not fit: a loan code begins with L-`,
		`{"days":{"monday":"noon"}}`:                             `the argument "days.monday" ` + date + `"noon"`,
		`{"files":["AAH/","*"]}`:                                 `the argument "files.1" must be base64 of the standard alphabet, with padding`,
		deep:                                                     `the argument "rows.0.rows.0.rows.0.rows.0" does not fit: a loan code begins with L-`,
		`{"since":"` + strings.Repeat("9", 100) + `"}`:           `the argument "since" ` + date + `"` + strings.Repeat("9", 39) + `…`,
	} {
		var in lending
		if err := decode(arguments, &in); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.80s: %v, want %q", arguments, err, want)
		}
	}
}
