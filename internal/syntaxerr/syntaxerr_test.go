package syntaxerr

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type target struct {
	Text  string         `json:"text"`
	Count int            `json:"count"`
	On    bool           `json:"on"`
	List  []string       `json:"list"`
	More  map[string]any `json:"more"`
}

func TestNoTextIsAboutGo(t *testing.T) {
	for src, want := range map[string]string{
		`{"text": }`:           "a value is expected, not '}'",
		`{"text": "a",}`:       "a key in double quotes is expected, not '}'",
		`{"text" "a"}`:         "a colon is expected",
		`{"text": "a" "b"}`:    `a comma or } is expected`,
		`{"list": ["a" "b"]}`:  "a comma or ] is expected",
		`{"text": 'a'}`:        `a value is expected`,
		`{text: "a"}`:          "a key in double quotes is expected, not 't'",
		`{"on": yes}`:          "a value is expected, not 'y'",
		`{"on": tru}`:          "a word is spelt wrongly",
		"{\"text\": \"a\nb\"}": "must be written as an escape",
		`{"text": "\q"}`:       "no escape in a text",
		`{"text": "a"`:         "ends too early",
		``:                     "ends too early",
		`{} {}`:                "there is more behind the end",
		`{"count": 1.x}`:       "a number has",
		`[1]`:                  "an object {…} is expected, not a list […]",
		`3`:                    "an object {…} is expected, not a number",
		`{"text": 3}`:          "text must be a text in quotes, not a number",
		`{"text": [1]}`:        "text must be a text in quotes, not a list",
		`{"count": "3"}`:       "count must be a whole number, not a text",
		`{"count": 3.5}`:       "count must be a whole number, not a number",
		`{"on": "true"}`:       "on must be true or false, not a text",
		`{"list": "a"}`:        "list must be a list […], not a text",
		`{"more": []}`:         "more must be an object {…}, not a list",
		`{"list": [{}]}`:       "list must be a text in quotes, not an object",
		`{"nothing": 3}`:       `there is no field "nothing"`,
		"{\"text\": \"a\" '}":  `a comma or } is expected, not '\''`,
	} {
		dec := json.NewDecoder(strings.NewReader(src))
		dec.DisallowUnknownFields()
		var v target
		err := json.Unmarshal([]byte(src), &v)
		if err == nil {
			err = dec.Decode(&v)
		}
		if err == nil {
			t.Errorf("%s is valid", src)
			continue
		}
		got := JSON([]byte(src), err)
		if !strings.Contains(got.Text, want) {
			t.Errorf("%s: %q, want %q", src, got.Text, want)
		}
		for _, word := range []string{"Go ", "struct", "unmarshal", "invalid character", "looking for", "json:"} {
			if strings.Contains(got.Error(), word) {
				t.Errorf("%s: %q speaks of %q", src, got, word)
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	for src, want := range map[string]struct{ line, column int }{
		"{\n  \"ä\": 1,\n  \"b\": x\n}": {3, 8},
		"{\"ä\" 1}":                     {1, 6},
		"{":                             {1, 1},
		"{\n":                           {1, 2},
		"{\"text\":\n 3}":               {2, 2},
	} {
		var v target
		err := json.Unmarshal([]byte(src), &v)
		if got := JSON([]byte(src), err); got.Line != want.line || got.Column != want.column {
			t.Errorf("%q: %v (%v), want line %d, column %d", src, got, err, want.line, want.column)
		}
	}
	if e := InJSON([]byte("[1,\n2")); e == nil || e.Line != 2 {
		t.Errorf("%v", e)
	}
	if e := InJSON([]byte("[1]")); e != nil {
		t.Errorf("%v", e)
	}
	if e := JSON(nil, errors.New("json: odd")); e.Line != 0 || e.Error() != "odd" {
		t.Errorf("%v", e)
	}
}

func TestYAMLInPlainWords(t *testing.T) {
	for src, line := range map[string]int{
		"a: [}": 1, "a:\n  b: 1\n c: 2": 3, "a: b: c": 1, "a:\n\tb: 1": 2, "a: \"x": 1, "a: \"\\q\"": 1, "a: @x": 1, "- a\nb: 1": 2,
	} {
		var v any
		err := yaml.Unmarshal([]byte(src), &v)
		if err == nil {
			t.Errorf("%q is valid", src)
			continue
		}
		e := YAML(err)
		if strings.Contains(e.Text, "did not find") || strings.Contains(e.Text, "yaml:") || strings.Contains(e.Text, "token") || strings.Contains(e.Text, "not allowed") {
			t.Errorf("%q: %q, of %v", src, e.Text, err)
		}
		if e.Line != 0 && (e.Line < line-1 || e.Line > line+1) {
			t.Errorf("%q: line %d, of %v", src, e.Line, err)
		}
	}
}
