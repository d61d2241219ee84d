package mailbox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// parser reads the part of JSON that the wire forms use: one flat object of strings,
// natural numbers and lists of strings. encoding/json folds the case of keys, keeps the
// last of two equal ones and repairs invalid text, so that two readers could see two
// different messages.
type parser struct {
	s       string
	i       int
	seen    []string
	seenBuf [16]string // backing array of seen
}

type members interface {
	// member reads the value of key from the parser.
	member(key string) error
}

func (p *parser) document(m members) error {
	p.seen = p.seenBuf[:0]
	if err := p.object(m); err != nil {
		return fmt.Errorf("at byte %d: %w", p.i, err)
	}
	if p.space(); p.i != len(p.s) {
		return fmt.Errorf("at byte %d: something follows the object", p.i)
	}
	return nil
}

func (p *parser) object(m members) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	if p.accept('}') {
		return nil
	}
	for {
		if err := p.pair(m); err != nil {
			return err
		}
		if p.accept('}') {
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
}

func (p *parser) pair(m members) error {
	key, err := p.text()
	if err != nil {
		return err
	}
	if slices.Contains(p.seen, key) {
		return fmt.Errorf("key %.80q twice", key)
	}
	p.seen = append(p.seen, key)
	if err := p.expect(':'); err != nil {
		return err
	}
	if err := m.member(key); err != nil {
		return fmt.Errorf("%.80q: %w", key, err)
	}
	return nil
}

func (p *parser) unknown(string) error { return errors.New("unknown key") }

func (p *parser) required(keys ...string) error {
	for _, k := range keys {
		if !slices.Contains(p.seen, k) {
			return fmt.Errorf("%q is missing", k)
		}
	}
	return nil
}

func (p *parser) space() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case ' ', '\t', '\r', '\n':
			p.i++
		default:
			return
		}
	}
}

func (p *parser) accept(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) expect(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("%q expected", c)
	}
	return nil
}

func (p *parser) version(want uint64) error {
	got, err := p.number()
	if err == nil && got != want {
		return fmt.Errorf("version %d, this program reads version %d", got, want)
	}
	return err
}

func (p *parser) number() (uint64, error) {
	p.space()
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	digits := p.s[start:p.i]
	if len(digits) > 1 && digits[0] == '0' {
		return 0, errors.New("number with a leading zero")
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, errors.New("natural number below 2^64 expected")
	}
	return n, nil
}

func readText[S ~string](p *parser, to *S) error {
	s, err := p.text()
	*to = S(s)
	return err
}

func (p *parser) address(to *Address) error {
	s, err := p.text()
	if err != nil {
		return err
	}
	*to, err = ParseAddress(s)
	return err
}

func (p *parser) time(to *time.Time) error {
	s, err := p.text()
	if err != nil {
		return err
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	*to = t.UTC()
	return err
}

func (p *parser) texts() (list []string, err error) {
	if err := p.expect('['); err != nil {
		return nil, err
	}
	if p.accept(']') {
		return nil, nil
	}
	for {
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		if p.accept(']') {
			return list, nil
		}
		if err := p.expect(','); err != nil {
			return nil, err
		}
	}
}

// text reads a string; one without escapes shares the memory of the input.
func (p *parser) text() (string, error) {
	if err := p.expect('"'); err != nil {
		return "", err
	}
	n := p.plain()
	if p.i+n < len(p.s) && p.s[p.i+n] == '"' {
		s := p.s[p.i : p.i+n]
		p.i += n + 1
		return s, nil
	}
	return p.escaped()
}

// plain counts the bytes up to the next quote, escape or control character.
func (p *parser) plain() int {
	rest := p.s[p.i:]
	for n := range len(rest) {
		if c := rest[n]; c == '"' || c == '\\' || c < ' ' {
			return n
		}
	}
	return len(rest)
}

func (p *parser) escaped() (string, error) {
	var b strings.Builder
	for {
		n := p.plain()
		b.WriteString(p.s[p.i : p.i+n])
		p.i += n
		switch {
		case p.i == len(p.s):
			return "", errors.New("string without an end")
		case p.s[p.i] == '"':
			p.i++
			return b.String(), nil
		case p.s[p.i] != '\\':
			return "", fmt.Errorf("control character %#02x in a string", p.s[p.i])
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		b.WriteRune(r)
	}
}

func (p *parser) escape() (rune, error) {
	if p.i+1 >= len(p.s) {
		return 0, errors.New("string without an end")
	}
	c := p.s[p.i+1]
	p.i += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return p.unicode()
	}
	return 0, fmt.Errorf("unknown escape \\%c", c)
}

func (p *parser) unicode() (rune, error) {
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if !strings.HasPrefix(p.s[p.i:], `\u`) {
		return 0, errors.New("half of a surrogate pair")
	}
	p.i += 2
	low, err := p.hex4()
	if err != nil {
		return 0, err
	}
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, errors.New("half of a surrogate pair")
	}
	return r, nil
}

func (p *parser) hex4() (rune, error) {
	if len(p.s)-p.i < 4 {
		return 0, errors.New("string without an end")
	}
	var r rune
	for _, c := range []byte(p.s[p.i : p.i+4]) {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errors.New(`four hex digits expected after \u`)
		}
	}
	p.i += 4
	return r, nil
}
