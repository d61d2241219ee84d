package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// DefaultTimeout is how long a command may take that names no time of its own.
const DefaultTimeout = 600 * time.Second

// File is what one settings file says about hooks. Files are given from the
// weakest to the strongest.
type File struct {
	Path string
	// Hooks is the value of "hooks", or nil.
	Hooks json.RawMessage
	// DisableAll is the value of "disableAllHooks", or nil. The strongest file
	// that has one decides, over all but managed hooks.
	DisableAll *bool
	// ManagedOnly is "allowManagedHooksOnly"; it counts in managed files.
	ManagedOnly bool
	// Managed marks the organisation's files.
	Managed bool
	// Untrusted marks files of a repository that is not trusted.
	Untrusted bool
}

// Set holds the hooks of all settings files. The zero value has none.
type Set struct {
	handlers map[string][]handler // by event
}

// handler is one command for one event.
type handler struct {
	matches func(subject string) bool
	source  string
	config
	broken error // why it cannot be run
}

// config is a handler as settings files write it.
type config struct {
	Type        string   `json:"type"`
	Command     string   `json:"command"`
	Args        []string `json:"args"`  // the command is a program, and no shell is used
	Shell       string   `json:"shell"` // bash or powershell
	Timeout     float64  `json:"timeout"`
	If          string   `json:"if"`
	Async       bool     `json:"async"`
	AsyncRewake bool     `json:"asyncRewake"`
	OnFailure   string   `json:"onFailure"` // continue or block
}

// Parse reads the hooks of settings files. What is wrong in them is returned,
// one error each; the rest is used.
func Parse(files []File) (*Set, []error) {
	s := &Set{handlers: map[string][]handler{}}
	var problems []error
	off, managedOnly := switches(files)
	for _, f := range files {
		switch {
		case len(f.Hooks) == 0, !f.Managed && (off || managedOnly):
		case f.Untrusted:
			problems = append(problems, fmt.Errorf("%s: its hooks are not run, as the repository is not trusted", f.Path))
		default:
			problems = append(problems, s.add(f)...)
		}
	}
	return s, problems
}

// switches says whether all hooks, or all but managed ones, are off.
func switches(files []File) (off, managedOnly bool) {
	for _, f := range files {
		if f.DisableAll != nil && !f.Untrusted {
			off = *f.DisableAll
		}
		managedOnly = managedOnly || f.Managed && f.ManagedOnly
	}
	return off, managedOnly
}

func (s *Set) add(f File) (problems []error) {
	var events map[string]json.RawMessage
	if err := json.Unmarshal(f.Hooks, &events); err != nil {
		return []error{fmt.Errorf("%s: hooks must be an object keyed by event: %w", f.Path, err)}
	}
	for event, raw := range events {
		for _, h := range parseEvent(raw) {
			h.source = f.Path
			if h.broken != nil {
				problems = append(problems, fmt.Errorf("%s: a hook of %s cannot be run: %w", f.Path, event, h.broken))
			}
			if !s.has(event, h) {
				s.handlers[event] = append(s.handlers[event], h)
			}
		}
	}
	return problems
}

// parseEvent returns the handlers of one event; what cannot be read is one that
// is broken and matches everything.
func parseEvent(raw json.RawMessage) []handler {
	var groups []struct {
		Matcher string            `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		return []handler{{matches: always, broken: fmt.Errorf("it must be a list of objects with matcher and hooks: %w", err)}}
	}
	var all []handler
	for _, g := range groups {
		matches, err := compile(g.Matcher)
		for _, one := range g.Hooks {
			h := parseHandler(one)
			if h.matches = matches; err != nil {
				h.broken = err
			}
			all = append(all, h)
		}
	}
	return all
}

func parseHandler(raw json.RawMessage) handler {
	var h handler
	if err := json.Unmarshal(raw, &h.config); err != nil {
		h.broken = fmt.Errorf("it cannot be read: %w", err)
		return h
	}
	h.broken = h.check()
	return h
}

func (c config) check() error {
	switch {
	case c.Type != "command":
		return fmt.Errorf("the type %q is not supported; use command", c.Type)
	case strings.TrimSpace(c.Command) == "":
		return fmt.Errorf("it names no command")
	case c.Async || c.AsyncRewake:
		return fmt.Errorf("hooks that nobody waits for (async) are not supported")
	case c.Shell != "" && c.Shell != "bash" && c.Shell != "powershell":
		return fmt.Errorf("the shell %q is not supported; use bash or powershell", c.Shell)
	case c.Timeout < 0:
		return fmt.Errorf("the timeout is %v seconds; it must not be negative", c.Timeout)
	}
	return nil
}

// has reports an equal handler, of a weaker file for one.
func (s *Set) has(event string, h handler) bool {
	for _, old := range s.handlers[event] {
		if old.broken == nil && h.broken == nil && old.equal(h.config) {
			return true
		}
	}
	return false
}

func (c config) equal(o config) bool {
	return c.Command == o.Command && c.Shell == o.Shell && c.If == o.If && c.Timeout == o.Timeout &&
		c.OnFailure == o.OnFailure && strings.Join(c.Args, "\x00") == strings.Join(o.Args, "\x00") && (c.Args == nil) == (o.Args == nil)
}

func (c config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return time.Duration(c.Timeout * float64(time.Second))
}
