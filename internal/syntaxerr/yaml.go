package syntaxerr

import (
	"regexp"
	"strconv"
	"strings"
)

var yamlPlace = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)`)

// yamlTexts are the decoder's own words, and what a person may have done.
var yamlTexts = []struct{ has, text string }{
	{"did not find expected node content", "a value is expected: a [ or { is not closed, or a text that begins with one, or with &, * or !, needs quotes"},
	{"did not find expected ',' or", "a comma or the end of a list or object is expected: one that was opened by [ or { is not closed"},
	{"did not find expected key", "the indentation does not fit the lines above"},
	{"did not find expected '-' indicator", "the indentation does not fit the list above"},
	{"could not find expected ':'", "a colon and a space are expected behind a key"},
	{"mapping values are not allowed", "a colon is not expected: a text with a colon needs quotes, and keys need the same indentation"},
	{"found character that cannot start any token", "a character that begins nothing: a tab cannot indent, and a text that begins with @, ` or % needs quotes"},
	{"found unexpected end of stream", "the text ends too early: a quote is not closed"},
	{"block sequence entries are not allowed", "a list is not expected: begin it on a line of its own"},
	{"found unknown escape character", `a text in double quotes has an unknown escape: write \\ for a backslash, or single quotes`},
}

// YAML returns what a decoder has said about a text, in plain words. The column is not known
// and 0, as is a line that the decoder does not give.
func YAML(err error) *Error {
	m := yamlPlace.FindStringSubmatch(err.Error())
	e := &Error{Text: err.Error()}
	if m == nil {
		return e
	}
	e.Line, _ = strconv.Atoi(m[1]) // 0 without a line
	e.Text = m[2]
	for _, t := range yamlTexts {
		if strings.Contains(m[2], t.has) {
			e.Text = t.text
		}
	}
	return e
}
