package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// File is what one settings file says about hooks. Files are given from the
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
	// Untrusted marks files of a directory that the user has not trusted.
	Untrusted bool
	// URLs are the values of "allowedHttpHookUrls" and Env those of
	// "httpHookAllowedEnvVars". If a file has one, no other URL is asked and no other
	// variable is put into a header.
	URLs, Env *[]string
	// Agent marks the hooks of one agent's definition: its Stop is SubagentStop.
	Agent bool
}

// Set holds the hooks of all settings files. The zero value is empty.
type Set struct {
	handlers map[string][]handler // by event
	limits   limits
}

// handler is what one settings file runs at one event.
type handler struct {
	matches func(subject string) bool
	matcher string
	source  string
	config
	err   error        // why it cannot be run
	spent *atomic.Bool // it has run successfully
}

// config is a handler as it is in settings files.
type config struct {
	Type        string            `json:"type"`
	Command     string            `json:"command"`
	Args        []string          `json:"args"`  // the command is a program, and no shell is used
	Shell       string            `json:"shell"` // bash or powershell
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	EnvVars     []string          `json:"allowedEnvVars"` // may be used in headers
	Timeout     float64           `json:"timeout"`
	If          string            `json:"if"`
	Once        bool              `json:"once"`
	Async       bool              `json:"async"`
	AsyncRewake bool              `json:"asyncRewake"`
	OnFailure   string            `json:"onFailure"` // continue or block
}

// Parse reads the hooks of settings files. It returns one error for each invalid entry and
// uses the rest.
func Parse(files []File) (*Set, []error) {
	s := &Set{handlers: map[string][]handler{}, limits: limitsOf(files)}
	var problems []error
	off, managedOnly := disabled(files)
	for _, f := range files {
		switch {
		case len(f.Hooks) == 0, !f.Managed && (off || managedOnly):
		case f.Untrusted:
			problems = append(problems, fmt.Errorf("%s: its hooks are not run, as the directory is not trusted; see what they run, and trust it, with: swarm trust", f.Path))
		default:
			problems = append(problems, s.add(f)...)
		}
	}
	return s, problems
}

// disabled says whether all hooks, or all but managed ones, are off.
func disabled(files []File) (off, managedOnly bool) {
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
	var idle []string
	for _, event := range slices.Sorted(maps.Keys(events)) {
		handlers := parseEvent(events[event])
		if f.Agent && event == "Stop" {
			event = "SubagentStop"
		}
		if known, _ := FindEvent(event); !known.Fires {
			idle = append(idle, event)
		}
		for _, h := range handlers {
			h.source = f.Path
			if h.err != nil {
				problems = append(problems, fmt.Errorf("%s: a hook of %s cannot be run: %w", f.Path, event, h.err))
			}
			s.handlers[event] = append(s.handlers[event], h)
		}
	}
	if len(idle) > 0 {
		problems = append(problems, fmt.Errorf("%s: its hooks of %s are not run, as nothing fires that here", f.Path, strings.Join(idle, ", ")))
	}
	return problems
}

// parseEvent returns the handlers of one event. An invalid handler has an error and
// matches everything.
func parseEvent(raw json.RawMessage) []handler {
	var groups []struct {
		Matcher string            `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &groups); err != nil {
		return []handler{{matches: always, err: fmt.Errorf("it must be a list of objects with matcher and hooks: %w", err)}}
	}
	var all []handler
	for _, g := range groups {
		matches, err := compile(g.Matcher)
		for _, one := range g.Hooks {
			h := parseHandler(one)
			h.matcher = g.Matcher
			if h.matches = matches; err != nil {
				h.err = err
			}
			all = append(all, h)
		}
	}
	return all
}

func parseHandler(raw json.RawMessage) handler {
	h := handler{spent: new(atomic.Bool)}
	if err := json.Unmarshal(raw, &h.config); err != nil {
		h.err = fmt.Errorf("it cannot be read: %w", err)
		return h
	}
	h.err = h.check()
	return h
}

func (c config) check() error {
	switch c.Type {
	case "command":
		if strings.TrimSpace(c.Command) == "" {
			return errors.New("it names no command")
		}
	case "http":
		if err := c.checkURL(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("the type %q is not supported; use command or http", c.Type)
	}
	switch {
	case c.Shell != "" && c.Shell != "bash" && c.Shell != "powershell":
		return fmt.Errorf("the shell %q is not supported; use bash or powershell", c.Shell)
	case c.Timeout < 0:
		return fmt.Errorf("the timeout is %v seconds; it must not be negative", c.Timeout)
	case c.OnFailure != "" && c.OnFailure != "continue" && c.OnFailure != "block":
		return fmt.Errorf("onFailure is %q; use continue or block", c.OnFailure)
	case (c.Async || c.AsyncRewake) && c.Type != "command":
		return fmt.Errorf("only a command can be asynchronous, not type %q", c.Type)
	}
	return nil
}

func (c config) equal(o config) bool {
	return c.Type == o.Type && c.URL == o.URL && maps.Equal(c.Headers, o.Headers) && c.Command == o.Command && c.Shell == o.Shell && c.If == o.If && c.Timeout == o.Timeout &&
		c.OnFailure == o.OnFailure && strings.Join(c.Args, "\x00") == strings.Join(o.Args, "\x00") && (c.Args == nil) == (o.Args == nil)
}

// timeout returns the handler's time limit at an event.
func (c config) timeout(event string) time.Duration {
	if c.Timeout == 0 {
		e, _ := FindEvent(event)
		return e.Timeout
	}
	return time.Duration(c.Timeout * float64(time.Second))
}

// name is what messages call the handler.
func (c config) name() string {
	if c.Type == "http" {
		return c.URL
	}
	return c.Command
}
