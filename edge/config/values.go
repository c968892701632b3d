package config

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Bytes is a size in bytes, written as a number with or without a unit: 65536, 64KiB, 16MiB, 1GiB,
// or in powers of ten 64kB, 16MB, 1GB.
type Bytes int64

// ParseBytes reads a size.
func ParseBytes(s string) (Bytes, error) {
	number, factor := strings.TrimSpace(s), int64(1)
	if at := strings.IndexFunc(number, unicode.IsLetter); at >= 0 {
		var known bool
		if factor, known = units[number[at:]]; !known {
			return 0, fmt.Errorf("%q is not a size: write a number, or one with KiB, MiB, GiB, kB, MB or GB", s)
		}
		number = strings.TrimSpace(number[:at])
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, fmt.Errorf("%q is not a size: write a number, or one with KiB, MiB, GiB, kB, MB or GB", s)
	}
	return Bytes(n * factor), nil
}

var units = map[string]int64{
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// String implements flag.Value.
func (b Bytes) String() string {
	for _, u := range []struct {
		name   string
		factor Bytes
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if b >= u.factor && b%u.factor == 0 {
			return strconv.FormatInt(int64(b/u.factor), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// Set implements flag.Value.
func (b *Bytes) Set(s string) error {
	v, err := ParseBytes(s)
	if err == nil {
		*b = v
	}
	return err
}

// UnmarshalText lets YAML read a size.
func (b *Bytes) UnmarshalText(text []byte) error { return b.Set(string(text)) }

// ParseDuration is time.ParseDuration with optional days first, as in 1d12h, and an error with
// advice.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if n, err := strconv.ParseUint(days, 10, 16); found && err == nil { // 16 bits of days are less than the longest duration
		d := time.Duration(n) * 24 * time.Hour
		if rest == "" {
			return d, nil
		}
		if more, err := time.ParseDuration(rest); err == nil && more >= 0 && d+more >= 0 {
			return d + more, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if _, e := strconv.ParseFloat(s, 64); e == nil {
		return 0, fmt.Errorf("a duration needs its unit: %ss, %sms or %sm rather than %s", s, s, s, s)
	}
	return 0, fmt.Errorf("%q is not a duration: write a number with its unit, such as 500ms, 30s, 5m, 1h or 7d", s)
}

// duration is a flag of a duration.
type duration struct{ value *time.Duration }

// DurationVar defines a flag of a duration, whose default is the value of the variable.
func DurationVar(fs *flag.FlagSet, value *time.Duration, name, usage string) {
	fs.Var(duration{value}, name, usage)
}

// String implements flag.Value.
func (d duration) String() string {
	if d.value == nil {
		return time.Duration(0).String()
	}
	return d.value.String()
}

// Set implements flag.Value.
func (d duration) Set(s string) error {
	v, err := ParseDuration(s)
	if err == nil {
		*d.value = v
	}
	return err
}

// list is a flag that may be repeated, or have several values separated by commas. The first Set
// replaces the default.
type list struct {
	values *[]string
	set    bool
}

func (l *list) String() string {
	if l.values == nil {
		return ""
	}
	return strings.Join(*l.values, ",")
}

func (l *list) Set(s string) error {
	if !l.set {
		*l.values, l.set = nil, true
	}
	for v := range strings.SplitSeq(s, ",") {
		if v = strings.TrimSpace(v); v != "" {
			*l.values = append(*l.values, v)
		}
	}
	return nil
}

// backends is the repeatable flag NAME=TARGET.
type backends struct {
	values *[]Backend
	set    bool
}

func (b *backends) String() string {
	if b.values == nil {
		return ""
	}
	var out []string
	for _, v := range *b.values {
		out = append(out, v.Name+"="+v.Target)
	}
	return strings.Join(out, ",")
}

func (b *backends) Set(s string) error {
	if !b.set {
		*b.values, b.set = nil, true
	}
	for v := range strings.SplitSeq(s, ",") {
		name, target, ok := strings.Cut(strings.TrimSpace(v), "=")
		if !ok {
			return fmt.Errorf("%q: write NAME=TARGET, such as tools=127.0.0.1:50051", v)
		}
		*b.values = append(*b.values, Backend{Name: name, Target: target})
	}
	return nil
}
