package capability

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// unmarshal is json.Unmarshal, but also decodes whole numbers with a fraction or an exponent, such
// as 5.0 and 1e2, into integers (JSON Schema 2020-12, Validation, section 6.1.1).
func unmarshal(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if misfit := (*json.UnmarshalTypeError)(nil); !errors.As(err, &misfit) || !strings.HasPrefix(misfit.Value, "number") {
		return err
	}
	if json.Unmarshal(wholeNumbers(data), into) == nil {
		return nil
	}
	return err
}

// wholeNumbers rewrites whole numbers in a JSON text without fraction and exponent if they fit into
// 64 bits.
func wholeNumbers(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		end := i + 1
		switch c := data[i]; {
		case c == '"':
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
		case c == '-' || c >= '0' && c <= '9':
			for end < len(data) && strings.IndexByte("+-.0123456789Ee", data[end]) >= 0 {
				end++
			}
			out = append(out, whole(string(data[i:end]))...)
		default:
			out = append(out, c)
		}
		i = end
	}
	return out
}

// whole returns a number as an integer. It returns the number unchanged if it is not whole or has
// more than 20 digits.
func whole(number string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	before, after, _ := strings.Cut(digits, ".")
	shift, err := strconv.Atoi(exponent)
	if err != nil && exponent != "" {
		return number
	}
	after = strings.TrimRight(after, "0")
	sign := ""
	if before[0] == '-' {
		sign, before = "-", before[1:]
	}
	all := strings.TrimLeft(before+after, "0")
	if all == "" {
		return "0"
	}
	const most = 20 // digits of a 64-bit integer
	shift -= len(after)
	if fraction := max(-shift, 0); fraction > 0 {
		if fraction >= len(all) || strings.Trim(all[len(all)-fraction:], "0") != "" {
			return number
		}
		all, shift = all[:len(all)-fraction], 0
	}
	if shift > most || len(all)+shift > most {
		return number
	}
	return sign + all + strings.Repeat("0", shift)
}
