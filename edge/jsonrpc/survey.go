package jsonrpc

import "bytes"

// Survey describes a JSON value without decoding it.
type Survey struct {
	// Values counts the value and all values in it: objects, arrays and scalars, but not names.
	Values int
	// TooMany is true if counting stopped at the bound.
	TooMany bool
	// Duplicate is a member name that an object has more than once, and Repeated is true if there
	// is one; the survey stopped there. Names are compared decoded.
	Duplicate string
	Repeated  bool
}

// SurveyOf surveys a value, and stops after the given number of values in it. It returns false if
// raw is not [Valid] JSON; the Survey is meaningless then. Objects with few members need no memory.
//
// It is a separate scan after the validation of the message, which runs for every message before
// its sender and costs are known, and would have to decide at each value whether to count. For a
// small call's arguments this scan takes 0.1 to 0.2 µs.
func SurveyOf(raw []byte, values int) (Survey, bool) {
	s := surveyor{scanner: scanner{data: raw}, most: values}
	s.space()
	ok := s.value() && s.end()
	return s.found, ok || s.found.TooMany || s.found.Repeated
}

// surveyor is a scanner that counts values and compares names.
type surveyor struct {
	scanner
	most  int
	found Survey
}

func (s *surveyor) value() bool {
	if s.found.Values++; s.found.Values > s.most {
		s.found.TooMany = true
		return false
	}
	switch {
	case s.at('{'):
		return s.object()
	case s.at('['):
		if !s.open() {
			return false
		}
		for more := s.firstElement(); more; more = s.nextElement() {
			if !s.value() {
				return false
			}
		}
		return s.fault == noFault
	}
	return s.scanner.value()
}

func (s *surveyor) object() bool {
	if !s.open() {
		return false
	}
	var names nameSet
	for more := s.firstKey(); more; more = s.nextKey() {
		if names.add(&s.scanner) {
			s.found.Duplicate, s.found.Repeated = string(s.name()), true
			return false
		}
		if !s.value() {
			return false
		}
	}
	return s.fault == noFault
}

// nameSet is the set of names of one object. A few names are compared with each other, more are
// looked up in a map.
type nameSet struct {
	few  [12]struct{ from, to int }
	n    int
	many map[string]struct{}
}

// add adds the scanner's last name and reports whether it was present.
func (n *nameSet) add(s *scanner) (repeated bool) {
	if n.many == nil && n.n < len(n.few) && !s.keyEscaped {
		name := s.data[s.keyFrom:s.keyTo]
		for _, o := range n.few[:n.n] {
			if bytes.Equal(s.data[o.from:o.to], name) {
				return true
			}
		}
		n.few[n.n].from, n.few[n.n].to = s.keyFrom, s.keyTo
		n.n++
		return false
	}
	if n.many == nil {
		n.many = make(map[string]struct{}, 2*len(n.few))
		for _, o := range n.few[:n.n] {
			n.many[string(s.data[o.from:o.to])] = struct{}{}
		}
	}
	name := s.name()
	if _, repeated = n.many[string(name)]; !repeated {
		n.many[string(name)] = struct{}{}
	}
	return repeated
}
