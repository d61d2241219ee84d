package redact

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/tool"
)

// minKnown is the length below which a known value is not looked for: a short one stands
// in ordinary text.
const minKnown = 12

// Secrets recognizes keys. It may be used by several goroutines.
type Secrets struct {
	shapes []shape
	known  []string
}

// New returns what recognizes keys by their shapes, and the given values.
func New(known ...string) *Secrets {
	s := &Secrets{shapes: shapes()}
	for _, k := range known {
		if len(k) >= minKnown {
			s.known = append(s.known, k)
		}
	}
	return s
}

// Text returns text with a placeholder for each key, and the kinds of the keys, each once.
func (s *Secrets) Text(text string) (redacted string, kinds []string) {
	for _, k := range s.known {
		if strings.Contains(text, k) {
			text, kinds = strings.ReplaceAll(text, k, placeholder(sessionKey)), append(kinds, sessionKey)
		}
	}
	for _, sh := range s.shapes {
		if fresh, found := sh.replace(text); found {
			text, kinds = fresh, append(kinds, sh.kind)
		}
	}
	slices.Sort(kinds)
	return text, slices.Compact(kinds)
}

// maxKey is how much of a text a key may take: a private key, its lines numbered.
const maxKey = 64 << 10

// replace puts placeholders for the keys of a shape.
func (s *shape) replace(text string) (fresh string, found bool) {
	var b strings.Builder
	done := 0
	for from := 0; ; {
		i := strings.Index(text[from:], s.hint)
		if i < 0 {
			break
		}
		from += i + len(s.hint)
		start, end := s.keyAround(text, done, from-len(s.hint))
		if end > 0 {
			b.WriteString(text[done:start])
			b.WriteString(placeholder(s.kind))
			done, from = end, max(from, end)
		}
	}
	if done == 0 {
		return text, false
	}
	return b.String() + text[done:], true
}

// keyAround returns the key whose hint is at a place of the text; its end is 0 if there is
// none. It begins a word, and not before least.
func (s *shape) keyAround(text string, least, hint int) (start, end int) {
	for start := max(least, hint-s.before); start <= hint; start++ {
		if !beginsWord(text, start) {
			continue
		}
		if at := s.key.FindStringIndex(text[start:min(len(text), start+maxKey)]); at != nil {
			return start, start + at[1]
		}
	}
	return 0, 0
}

// beginsWord reports whether no word goes on at a place. In a string of JSON the letters
// of an escaped character look like a word.
func beginsWord(text string, at int) bool {
	if at == 0 || !isWord(text[at-1]) {
		return true
	}
	return escaped.MatchString(text[max(0, at-6):at])
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

var escaped = regexp.MustCompile(`\\(?:[nrtbf]|u[0-9a-fA-F]{4})$`)

// sessionKey is the kind of the values that New is given.
const sessionKey = "key of this session"

// placeholderIn returns the first placeholder of a text, or "".
func (s *Secrets) placeholderIn(text string) string {
	if !strings.Contains(text, placeholderStart) {
		return ""
	}
	for _, sh := range append([]shape{{kind: sessionKey}}, s.shapes...) {
		if p := placeholder(sh.kind); strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

const placeholderStart = "[redacted: "

func placeholder(kind string) string { return placeholderStart + kind + "]" }

// Result redacts the result of a tool, and says so in it.
func (s *Secrets) Result(r tool.Result) tool.Result {
	detail, inDetail := s.Text(string(r.Detail))
	text, kinds := s.Text(r.Text)
	if len(inDetail) > 0 {
		r.Detail = []byte(detail)
	}
	if len(kinds) > 0 {
		r.Text = text + fmt.Sprintf("\n(redacted here: %s. The user sees them with SWARM_REDACT=off.)", strings.Join(kinds, ", "))
	}
	return r
}
