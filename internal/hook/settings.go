package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// File has the hooks of one settings file. Files are given from the
// weakest to the strongest.
type File struct {
	Path string
	// Hooks is the value of "hooks", or nil.
	Hooks json.RawMessage
	// DisableAll is the value of "disableAllHooks", or nil. The strongest file with a
	// value decides, about all hooks but managed ones.
	DisableAll *bool
	// ManagedOnly is "allowManagedHooksOnly"; it is ignored in files that are not managed.
	ManagedOnly bool
	// Managed marks the files of the organisation.
	Managed bool
	// Broken marks files that cannot be read.
	Broken bool
	// Unread marks files of which nothing can be read, which is reported with their rules.
	Unread bool
	// Directory marks the files of a directory, which its agents may be able to change.
	Directory bool
	// Untrusted marks files of a directory that the user has not trusted.
	Untrusted bool
	// Changed marks untrusted files whose hooks the user has trusted with another text.
	Changed bool
	// URLs are the values of "allowedHttpHookUrls" and Env those of
	// "httpHookAllowedEnvVars". If a file has one, no other URL is asked and no other
	// variable is put into a header.
	URLs, Env *[]string
	// Agent marks the hooks of one agent's definition: its Stop is SubagentStop.
	Agent bool
}

// Equal reports whether two states of a file are equal.
func (f File) Equal(o File) bool { return reflect.DeepEqual(f, o) }

// Set holds the hooks of all settings files. The zero value is empty.
type Set struct {
	handlers map[string][]handler // by event
	limits   limits
	off      bool // files that are not managed run nothing
}

// Parse reads the hooks of settings files. It returns one error for each invalid entry,
// and for what has no effect here, and uses the rest.
func Parse(files []File) (*Set, []error) {
	s := &Set{handlers: map[string][]handler{}, limits: limitsOf(files), off: disabled(files)}
	var problems []error
	for _, f := range files {
		problems = append(problems, s.add(f)...)
	}
	return s, problems
}

// CheckDefinition returns what is wrong with the hooks of an agent's definition, one
// sentence each.
func CheckDefinition(hooks []byte) (problems []string) {
	_, wrong := Parse([]File{{Hooks: hooks, Agent: true}})
	for _, err := range wrong {
		problems = append(problems, strings.TrimPrefix(err.Error(), ": "))
	}
	return problems
}

// With returns the set with the hooks of a definition, of which CheckDefinition says what
// is wrong. Both sets share which handlers with once have run.
func (s *Set) With(f File) *Set {
	more := &Set{handlers: maps.Clone(s.handlers), limits: s.limits, off: s.off}
	for event, all := range more.handlers {
		more.handlers[event] = slices.Clip(all)
	}
	_ = more.add(f) // reported when the definition is read
	return more
}

// disabled reports whether all hooks but managed ones are off.
func disabled(files []File) bool {
	off, managedOnly := false, false
	for _, f := range files {
		if f.DisableAll != nil && !f.Untrusted {
			off = *f.DisableAll
		}
		managedOnly = managedOnly || f.Managed && f.ManagedOnly
	}
	return off || managedOnly
}

// add adds the hooks of a file, unless it may run none.
func (s *Set) add(f File) (problems []error) {
	switch {
	case len(f.Hooks) == 0, !f.Managed && s.off:
		return nil
	case f.Changed:
		return []error{fmt.Errorf("%s: its hooks have changed since you trusted them, so they are not run, and what the directory allows is left out; see what they run, and trust it, with: swarm trust", f.Path)}
	case f.Untrusted:
		return []error{fmt.Errorf("%s: its hooks are not run, as the directory is not trusted; see what they run, and trust it, with: swarm trust", f.Path)}
	}
	var events map[string]json.RawMessage
	if err := json.Unmarshal(f.Hooks, &events); err != nil {
		return []error{fmt.Errorf("%s: hooks must be an object keyed by event: %w", f.Path, syntaxerr.Plain(err))}
	}
	var absent, idle []string
	for _, name := range slices.Sorted(maps.Keys(events)) {
		raw := events[name]
		if f.Agent && name == "Stop" {
			name = "SubagentStop"
		}
		event, _ := FindEvent(name)
		if !event.Fires() {
			absent = append(absent, fmt.Sprintf("%s (%s)", name, event.Absent))
		}
		for _, h := range parseEvent(event, raw) {
			h.source = f.Path
			if doubt := doubtfulMatcher(event, h.matcher); doubt != "" && h.err == nil {
				problems = append(problems, fmt.Errorf("%s: the matcher %q of %s %s", f.Path, h.matcher, name, doubt))
			}
			if h.err != nil {
				problems = append(problems, fmt.Errorf("%s: a hook of %s cannot be run: %w", f.Path, name, h.err))
			}
			idle = append(idle, h.idle...)
			s.handlers[name] = append(s.handlers[name], h)
		}
	}
	if len(absent) > 0 {
		problems = append(problems, fmt.Errorf("%s: its hooks of these events are not run: %s", f.Path, strings.Join(absent, ", ")))
	}
	if idle = slices.Compact(slices.Sorted(slices.Values(idle))); len(idle) > 0 {
		problems = append(problems, fmt.Errorf("%s: these settings of its hooks have no effect: %s", f.Path, strings.Join(idle, ", ")))
	}
	return problems
}

// parseEvent returns the handlers of one event. What is invalid is a handler that has an
// error and matches everything.
func parseEvent(event Event, raw json.RawMessage) (all []handler) {
	var groups []json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		return []handler{{matches: always, err: fmt.Errorf("it must be a list of objects with matcher and hooks: %w", syntaxerr.Plain(err))}}
	}
	for _, one := range groups {
		all = append(all, parseGroup(event, one)...)
	}
	return all
}

// parseGroup returns the handlers of one matcher.
func parseGroup(event Event, raw json.RawMessage) (all []handler) {
	var g struct {
		Matcher json.RawMessage   `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		return []handler{{matches: always, err: fmt.Errorf("it must be an object with matcher and hooks: %w", syntaxerr.Plain(err))}}
	}
	matcher, matches, err := parseMatcher(event, g.Matcher)
	if g.Hooks == nil {
		return []handler{{matcher: matcher, matches: matches, err: errors.Join(err, errors.New(`it has no list "hooks"; put each handler, with its type and command, into one`))}}
	}
	for _, one := range g.Hooks {
		h := parseHandler(event, one)
		h.matcher, h.matches = matcher, matches
		if err != nil {
			h.err = err
		}
		all = append(all, h)
	}
	return all
}
