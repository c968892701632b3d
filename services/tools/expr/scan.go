package expr

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	endToken kind = iota
	numberToken
	nameToken
	symbolToken // + - * / % ^ ( ) ,
)

type token struct {
	kind     kind
	position int // position of its first character, from 1
	text     string
	number   float64
}

// String returns the token as error messages show it.
func (t token) String() string {
	if t.kind == endToken {
		return "end of the expression"
	}
	return strconv.Quote(t.text)
}

func (t token) is(symbol string) bool { return t.kind == symbolToken && t.text == symbol }

// scan splits an expression into tokens. The last one is the end.
func scan(text string) ([]token, error) {
	if !utf8.ValidString(text) {
		return nil, fail(1, "the expression is not valid UTF-8")
	}
	runes := []rune(text)
	if len(runes) > MaxLength {
		return nil, fail(MaxLength+1, "the expression has %d characters, more than the %d that are allowed; split it up", len(runes), MaxLength)
	}
	var tokens []token
	for i := 0; i < len(runes); {
		r := runes[i]
		if unicode.IsSpace(r) {
			i++
			continue
		}
		t, size, err := next(runes, i)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		i += size
	}
	return append(tokens, token{kind: endToken, position: len(runes) + 1}), nil
}

// next returns the token at i and its length.
func next(runes []rune, i int) (token, int, error) {
	r, at := runes[i], i+1
	switch {
	case isDigit(r), r == '.':
		size := numberSize(runes[i:])
		text := string(runes[i : i+size])
		number, err := strconv.ParseFloat(text, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return token{}, 0, fail(at, "the number %s is too large", text)
		case err != nil:
			return token{}, 0, fail(at, "%q is not a number; write it like 12, 1.5 or 6.02e23", text)
		}
		return token{kind: numberToken, position: at, text: text, number: number}, size, nil
	case isLetter(r):
		size := 1
		for i+size < len(runes) && (isLetter(runes[i+size]) || isDigit(runes[i+size])) {
			size++
		}
		return token{kind: nameToken, position: at, text: strings.ToLower(string(runes[i : i+size]))}, size, nil
	case r == '*' && i+1 < len(runes) && runes[i+1] == '*':
		return token{kind: symbolToken, position: at, text: "^"}, 2, nil
	}
	switch r {
	case '×', '·':
		r = '*'
	case '÷':
		r = '/'
	case '−':
		r = '-'
	}
	if strings.ContainsRune("+-*/%^(),", r) {
		return token{kind: symbolToken, position: at, text: string(r)}, 1, nil
	}
	return token{}, 0, fail(at, "unexpected character %q; expected a number, a name, an operator or a parenthesis", r)
}

// numberSize returns the number of characters of the number at the start of runes.
func numberSize(runes []rune) int {
	i := 0
	for i < len(runes) && (isDigit(runes[i]) || runes[i] == '.') {
		i++
	}
	if i == len(runes) || (runes[i] != 'e' && runes[i] != 'E') {
		return i
	}
	j := i + 1
	if j < len(runes) && (runes[j] == '+' || runes[j] == '-') {
		j++
	}
	for j < len(runes) && isDigit(runes[j]) {
		j++
	}
	return j
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' }
