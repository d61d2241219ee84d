// Package syntaxerr says in plain words, and where, what is wrong with JSON and YAML that a
// person has written, in place of the words of the decoders.
//
//	if err := json.Unmarshal(src, &v); err != nil {
//		return fmt.Errorf("%s:%w", path, syntaxerr.JSON(src, err)) // call.json:2:14: a comma …
//	}
//
// The laws:
//
//   - No text names a Go type or a state of a decoder (TestNoTextIsAboutGo).
//   - The place of an error in JSON is the line and column of the character that is wrong,
//     and 0 if it is not known (TestPlaces).
package syntaxerr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Error is what is wrong at a place.
type Error struct {
	Line, Column int // from 1; 0 is unknown
	Text         string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// JSON returns what is wrong with src, for which a decoder returned err.
func JSON(src []byte, err error) *Error {
	e := &Error{Text: text(err)}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		e.Line, e.Column = place(src, int(syntax.Offset))
	case errors.As(err, &kind):
		e.Line, e.Column = place(src, int(kind.Offset))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Line, e.Column = place(src, len(src))
	}
	return e
}

// InJSON returns what is wrong with the form of a text that is to be JSON, or nil.
func InJSON(src []byte) *Error {
	var v any
	if err := json.Unmarshal(src, &v); err != nil {
		return JSON(src, err)
	}
	return nil
}

// Plain returns an error of a JSON decoder about a part of a text, of which the place is not
// known.
func Plain(err error) error { return errors.New(text(err)) }

// place returns the line and column of the last of so many bytes.
func place(src []byte, n int) (line, column int) {
	before := src[:max(0, min(n, len(src))-1)]
	last := before[bytes.LastIndexByte(before, '\n')+1:]
	return 1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(last)
}

func text(err error) string {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return kindText(kind)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "unexpected end of JSON input"):
		return "the text ends too early: something that was opened is not closed"
	}
	return syntaxText(strings.TrimPrefix(err.Error(), "json: "))
}

// kindText is for a value of another kind than expected.
func kindText(e *json.UnmarshalTypeError) string {
	kind, _, _ := strings.Cut(e.Value, " ") // "number 3" and "string"
	is, known := map[string]string{
		"object": "an object {…}", "array": "a list […]", "string": "a text", "number": "a number", "bool": "true or false",
	}[kind]
	if !known {
		is = kind
	}
	want := "something else"
	if e.Type != nil {
		want = wanted(e.Type.Kind().String())
	}
	if e.Field == "" {
		return fmt.Sprintf("%s is expected, not %s", want, is)
	}
	return fmt.Sprintf("%s must be %s, not %s", e.Field, want, is)
}

func wanted(kind string) string {
	switch kind {
	case "string":
		return "a text in quotes"
	case "bool":
		return "true or false"
	case "slice", "array":
		return "a list […]"
	case "map", "struct":
		return "an object {…}"
	}
	if strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") {
		return "a whole number"
	}
	if strings.HasPrefix(kind, "float") {
		return "a number"
	}
	return "another kind of value"
}

var (
	invalid = regexp.MustCompile(`invalid character ('(?:\\.[^']*|[^'])+'|'\\'') (.*)`)
	unknown = regexp.MustCompile(`^unknown field (".*")$`)
)

// expectations are what a decoder was about to read, by its own words.
var expectations = []struct{ state, text string }{
	{"looking for beginning of object key string", "a key in double quotes is expected, not %s"},
	{"looking for beginning of value", "a value is expected, not %s"},
	{"after object key:value pair", "a comma or } is expected, not %s"},
	{"after object key", "a colon is expected behind a key, not %s"},
	{"after array element", "a comma or ] is expected, not %s"},
	{"after top-level value", "there is more behind the end: %s"},
	{"in string literal", "a text holds %s, which must be written as an escape such as \\n"},
	{"in string escape code", "no escape in a text begins with \\ and %s; write \\\\ for a backslash"},
	{"in literal", "a word is spelt wrongly at %s: there are true, false and null, and texts are in double quotes"},
	{"in numeric literal", "a number has %s where it cannot be"},
}

// hint returns what a person has probably meant by a character that cannot be there.
func hint(char string) string {
	switch char {
	case "'}'", "']'":
		return "; a comma before it is one too many"
	case "'/'", "'#'":
		return "; JSON has no comments"
	case `'\\''`, `'“'`:
		return "; texts are in double quotes"
	}
	return ""
}

func syntaxText(text string) string {
	if m := unknown.FindStringSubmatch(text); m != nil {
		return "there is no field " + m[1]
	}
	m := invalid.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	for _, e := range expectations {
		if strings.Contains(m[2], e.state) {
			return fmt.Sprintf(e.text, m[1]) + hint(m[1])
		}
	}
	return "it is not JSON at " + m[1]
}
