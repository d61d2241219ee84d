package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// handler is what one settings file runs at one event.
type handler struct {
	matches func(subject string) bool
	matcher string
	source  string
	config
	err   error        // why it cannot be run
	idle  []string     // settings of it that have no effect
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
	Server      string            `json:"server"`
	Tool        string            `json:"tool"`
	Input       map[string]any    `json:"input"` // of the tool, with ${path} for what the event has there
	Prompt      string            `json:"prompt"`
	Model       string            `json:"model"`
	Feedback    bool              `json:"continueOnBlock"` // an objection is an answer to the agent and ends nothing
	Timeout     float64           `json:"timeout"`
	If          string            `json:"if"`
	Once        bool              `json:"once"`
	Async       bool              `json:"async"`
	AsyncRewake bool              `json:"asyncRewake"`
	OnFailure   string            `json:"onFailure"` // continue or block
}

// The types of handlers.
const (
	typeCommand = "command"
	typeHTTP    = "http"
	typeTool    = "mcp_tool"
	typePrompt  = "prompt"
	typeAgent   = "agent"
)

// fieldsOf are the fields of each type, besides those of all.
func fieldsOf(typ string) []string {
	common := []string{"type", "if", "timeout", "once"}
	return slices.Concat(common, map[string][]string{
		typeCommand: {"command", "args", "shell", "async", "asyncRewake", "onFailure"},
		typeHTTP:    {"url", "headers", "allowedEnvVars", "onFailure"},
		typeTool:    {"server", "tool", "input"},
		typePrompt:  {"prompt", "model", "continueOnBlock"},
		typeAgent:   {"prompt", "model"},
	}[typ])
}

func parseHandler(event Event, raw json.RawMessage) handler {
	h := handler{matches: always, spent: new(atomic.Bool)}
	if err := json.Unmarshal(raw, &h.config); err != nil {
		h.err = fmt.Errorf("it cannot be read: %w", syntaxerr.Plain(err))
		return h
	}
	if h.err = h.check(event); h.err == nil {
		h.idle = h.withoutEffect(event, raw)
	}
	return h
}

// check returns why a handler cannot be run at an event.
func (c config) check(event Event) error {
	if err := c.checkType(event); err != nil {
		return err
	}
	switch {
	case c.Shell != "" && c.Shell != "bash" && c.Shell != "powershell":
		return fmt.Errorf("the shell %q is not supported; use bash or powershell", c.Shell)
	case c.Timeout < 0:
		return fmt.Errorf("the timeout is %v seconds; it must not be negative", c.Timeout)
	case c.OnFailure != "" && c.OnFailure != "continue" && c.OnFailure != "block":
		return fmt.Errorf("onFailure is %q; use continue or block", c.OnFailure)
	case c.isAsync() && c.Type != typeCommand:
		return fmt.Errorf("only a command can be asynchronous, not type %q", c.Type)
	}
	return nil
}

func (c config) checkType(event Event) error {
	switch c.Type {
	case typeCommand:
		if strings.TrimSpace(c.Command) == "" {
			return errors.New("it names no command")
		}
	case typeHTTP:
		return c.checkURL()
	case typeTool:
		if c.Server == "" || c.Tool == "" {
			return errors.New("it names no server and tool")
		}
	case typePrompt, typeAgent:
		switch {
		case strings.TrimSpace(c.Prompt) == "":
			return errors.New("it has no prompt")
		case !event.Judged:
			return fmt.Errorf("the type %s is not supported at %s; use command", c.Type, event.Name)
		}
	default:
		return fmt.Errorf("the type %q is not supported; use command, http, mcp_tool, prompt or agent", c.Type)
	}
	return nil
}

func (c config) isAsync() bool { return c.Async || c.AsyncRewake }

// withoutEffect names what a handler sets in vain.
func (c config) withoutEffect(event Event, raw json.RawMessage) (idle []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	known := fieldsOf(c.Type)
	for name := range fields {
		if !slices.Contains(known, name) {
			idle = append(idle, fmt.Sprintf("%.60s of %s", name, event.Name))
		}
	}
	if c.Type == typeTool && strings.HasPrefix(event.Name, "Worktree") {
		idle = append(idle, "the handlers of type mcp_tool of "+event.Name+", as "+noServers)
	}
	if c.If != "" && !event.Tool {
		idle = append(idle, "the handlers with if of "+event.Name+", which never run")
	}
	if c.OnFailure == "block" && !c.failureBlocks(event.Name) {
		idle = append(idle, "onFailure of "+event.Name)
	}
	return idle
}

// failureBlocks reports whether a failure of the handler blocks the event.
func (c config) failureBlocks(event string) bool {
	endings := []string{"Stop", "SubagentStop", "TaskCompleted", "TeammateIdle"}
	return c.OnFailure == "block" && !c.isAsync() && (c.Type == typeCommand || c.Type == typeHTTP) && !slices.Contains(endings, event)
}

// same reports a handler that does the same.
func (h handler) same(o handler) bool { return o.err == nil && reflect.DeepEqual(h.config, o.config) }

// timeout returns the handler's time limit at an event.
func (c config) timeout(event string) time.Duration {
	switch {
	case c.Timeout != 0:
		return seconds(c.Timeout)
	case c.Type == typePrompt:
		return promptTimeout
	case c.Type == typeAgent:
		return agentTimeout
	}
	e, _ := FindEvent(event)
	return e.Timeout
}

// maxTimeout is the longest time limit.
const maxTimeout = 24 * time.Hour

func seconds(n float64) time.Duration {
	return time.Duration(min(n, maxTimeout.Seconds()) * float64(time.Second))
}

// name is what messages call the handler.
func (c config) name() string {
	switch c.Type {
	case typeHTTP:
		return c.URL
	case typeTool:
		return c.Server + " " + c.Tool
	case typePrompt, typeAgent:
		line, _, _ := strings.Cut(strings.TrimSpace(c.Prompt), "\n")
		return fmt.Sprintf("%s: %.80s", c.Type, line)
	}
	return c.Command
}
