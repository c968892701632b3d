package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxPoints is the size up to which a set is written as an enumeration.
const maxPoints = 64

// integers returns the integers of a kind that the rules accept.
func (r *ruleSet) integers(g *generator, kind protoreflect.Kind) integers {
	all := kindRange(kind)
	set := integers{all}
	var low, high *big.Int
	r.each(g, r.of(g, kind.String()), func(name string, v protoreflect.Value) bool {
		switch name {
		case "const":
			set = set.only([]*big.Int{integer(v)})
		case "in":
			set = set.only(listed(v.List()))
		case "not_in":
			set = set.without(listed(v.List()))
		case "gt":
			low = more(integer(v))
		case "gte":
			low = integer(v)
		case "lt":
			high = less(integer(v))
		case "lte":
			high = integer(v)
		default:
			return false
		}
		return true
	})
	if low != nil && high != nil && r.reversed(g, kind) { // protovalidate then accepts the outside of the range
		return append(set.within(nil, high), set.within(low, nil)...)
	}
	return set.within(low, high)
}

// reversed reports whether the upper bound is below the lower one, which protovalidate reads as an
// excluded range.
func (r *ruleSet) reversed(g *generator, kind protoreflect.Kind) bool {
	rules := r.of(g, kind.String())
	var low, high protoreflect.Value
	r.each(g, rules, func(name string, v protoreflect.Value) bool {
		switch name {
		case "gt", "gte":
			low = v
		case "lt", "lte":
			high = v
		}
		return true
	})
	if !low.IsValid() || !high.IsValid() {
		return false
	}
	if kind == protoreflect.FloatKind || kind == protoreflect.DoubleKind {
		return high.Float() < low.Float()
	}
	return integer(high).Cmp(integer(low)) < 0
}

func integer(v protoreflect.Value) *big.Int {
	switch n := v.Interface().(type) {
	case int32:
		return big.NewInt(int64(n))
	case int64:
		return big.NewInt(n)
	case uint32:
		return big.NewInt(int64(n))
	case uint64:
		return new(big.Int).SetUint64(n)
	}
	return new(big.Int)
}

func listed(list protoreflect.List) []*big.Int {
	out := make([]*big.Int, list.Len())
	for i := range out {
		out[i] = integer(list.Get(i))
	}
	return out
}

// withZero adds 0.
func (s integers) withZero(kind protoreflect.Kind) integers {
	zero := new(big.Int)
	if len(s.within(zero, zero)) > 0 {
		return s
	}
	out := append(s.within(nil, zero), interval{zero, zero})
	return append(out, s.within(zero, kindRange(kind).hi)...)
}

// integer returns the schema of a set of integers. 64-bit integers are strings, and in inputs
// numbers, too.
func (g *generator) integer(kind protoreflect.Kind, set integers) *object {
	all := kindRange(kind)
	wide := all.hi.BitLen() > 32
	if len(set) == 0 {
		return never()
	}
	if !g.input && wide {
		return obj("type", "string", "pattern", g.counted(set.pattern(all)))
	}
	if points, few := set.points(maxPoints); few {
		var values []any
		for _, n := range points {
			values = append(values, json.Number(n.String()))
			if wide {
				values = append(values, n.String())
			}
		}
		return obj("enum", values)
	}
	s := obj("type", "integer")
	if wide {
		s = obj("type", []any{"string", "integer"}, "pattern", g.counted(set.pattern(all)))
	}
	if len(set) == 1 {
		if wide && set[0].lo.Cmp(all.lo) == 0 && set[0].hi.Cmp(all.hi) == 0 && all.lo.Sign() < 0 {
			return s
		}
		return setBounds(s, set[0])
	}
	var ranges []any
	for _, i := range set {
		ranges = append(ranges, setBounds(obj(), i))
	}
	return s.set("anyOf", ranges)
}

// counted counts the bytes of a text in the schema, and returns the text.
func (g *generator) counted(text string) string {
	g.size += len(text)
	return text
}

func setBounds(s *object, i interval) *object {
	s.set("minimum", json.Number(i.lo.String()))
	return s.set("maximum", json.Number(i.hi.String()))
}

// nonFinite are the floats without a JSON number.
var nonFinite = []struct {
	name  string
	value float64
}{{"NaN", math.NaN()}, {"Infinity", math.Inf(1)}, {"-Infinity", math.Inf(-1)}}

// floatRules are the rules of a float.
type floatRules struct {
	low, high         *float64
	lowIn, highIn     bool
	gap, finite       bool
	constant          *float64
	among, notAmong   []float64
	limited, excluded bool
	// amongSet and notAmongSet are among and notAmong as sets.
	amongSet, notAmongSet map[float64]bool
}

func (r *ruleSet) floats(g *generator, kind protoreflect.Kind) (f floatRules) {
	r.each(g, r.of(g, kind.String()), func(name string, v protoreflect.Value) bool {
		switch name {
		case "const":
			x := v.Float()
			f.constant = &x
		case "in":
			f.limited, f.among = true, reals(v.List())
		case "not_in":
			f.excluded, f.notAmong = true, reals(v.List())
		case "gt", "gte":
			x := v.Float()
			f.low, f.lowIn = &x, name == "gte"
		case "lt", "lte":
			x := v.Float()
			f.high, f.highIn = &x, name == "lte"
		case "finite":
			f.finite = v.Bool()
		default:
			return false
		}
		return true
	})
	f.gap = r.reversed(g, kind)
	f.amongSet, f.notAmongSet = setOf(f.among), setOf(f.notAmong)
	return f
}

func reals(list protoreflect.List) []float64 {
	out := make([]float64, list.Len())
	for i := range out {
		out[i] = list.Get(i).Float()
	}
	return out
}

func setOf(list []float64) map[float64]bool {
	set := make(map[float64]bool, len(list))
	for _, x := range list {
		set[x] = true
	}
	return set
}

// accepts reports whether a value satisfies the rules.
func (f *floatRules) accepts(x float64) bool {
	above := f.low == nil || x > *f.low || f.lowIn && x == *f.low
	below := f.high == nil || x < *f.high || f.highIn && x == *f.high
	inside := above && below
	if f.gap {
		inside = above || below
	}
	return inside && (!f.finite || !math.IsNaN(x) && !math.IsInf(x, 0)) &&
		(f.constant == nil || x == *f.constant) && (!f.limited || f.amongSet[x]) && !f.notAmongSet[x]
}

// float returns the schema of a float: a number, or the name of a special.
func (g *generator) float(kind protoreflect.Kind, rules *ruleSet) *object {
	f := rules.floats(g, kind)
	var names []any
	for _, s := range nonFinite {
		if f.accepts(s.value) {
			names = append(names, s.name)
		}
	}
	number := f.number(kind)
	switch {
	case number == nil && len(names) == 0:
		return never()
	case number == nil:
		return obj("enum", names)
	case len(names) == 0:
		return number
	}
	return obj("anyOf", []any{number, obj("enum", names)})
}

// number returns the schema of the finite values; nil if none is accepted.
func (f *floatRules) number(kind protoreflect.Kind) *object {
	if f.constant != nil || f.limited {
		candidates := f.among
		if f.constant != nil {
			candidates = []float64{*f.constant}
		}
		var values []any
		for _, x := range candidates {
			if f.accepts(x) && !math.IsInf(x, 0) && !math.IsNaN(x) {
				values = append(values, real(kind, x))
			}
		}
		if len(values) == 0 {
			return nil
		}
		return obj("enum", values)
	}
	s := obj("type", "number")
	low, high := obj(), obj()
	if f.low != nil && !f.bound(low, kind, *f.low, "minimum", "exclusiveMinimum", f.lowIn, 1) {
		return nil
	}
	if f.high != nil && !f.bound(high, kind, *f.high, "maximum", "exclusiveMaximum", f.highIn, -1) {
		return nil
	}
	if f.gap {
		s.set("anyOf", []any{high, low})
	} else {
		s.and(low)
		s.and(high)
	}
	var not []any
	for _, x := range f.notAmong {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			not = append(not, real(kind, x))
		}
	}
	if len(not) > 0 {
		s.set("not", obj("enum", not))
	}
	return s
}

// bound adds a bound, and returns false if no number satisfies it. impossible is the sign of the
// infinity that no number satisfies as the bound: 1 for a lower bound.
func (f *floatRules) bound(s *object, kind protoreflect.Kind, x float64, inclusive, exclusive string, in bool, impossible int) bool {
	switch {
	case math.IsNaN(x):
		return false
	case math.IsInf(x, impossible):
		return f.gap
	case math.IsInf(x, 0):
		return true
	case in:
		s.set(inclusive, real(kind, x))
	default:
		s.set(exclusive, real(kind, x))
	}
	return true
}

// real formats a float as protojson does, so that a float32 has the same precision.
func real(kind protoreflect.Kind, x float64) json.Number {
	bits := 64
	if kind == protoreflect.FloatKind {
		bits = 32
	}
	text := strconv.FormatFloat(x, 'g', -1, bits)
	return json.Number(strings.Replace(text, "e+", "e", 1))
}
