// Package agenthook runs the hooks of people at the events of an agent's life: it makes
// the input of each event, runs what settings files and the agent's definition name, and
// returns what the outcomes mean.
//
//	hooks := agenthook.New(agenthook.Options{Session: id, Dir: dir, Load: load, Warn: warn, Scope: scope})
//	d := hooks.PreToolUse(ctx, spec, agenthook.Call{ID: "c1", Name: "Bash", Input: input})
//	if d.Behavior == agenthook.Deny {
//		… // d.Reason goes to the model
//	}
//
// Laws:
//
//   - Of several hooks the strictest decides: deny before ask before allow
//     (TestTheStrictestDecides).
//   - Exit code 2 denies a call whatever the hook printed, and so does a matcher that
//     cannot be used; any other failure is a warning unless onFailure is block
//     (TestWhatDenies).
//   - Where no hook listens nothing is run
//     (TestNoHookCostsNothing).
//   - The hooks of a definition run for its agents and no others, and their Stop is
//     SubagentStop (TestHooksOfADefinitionAreItsAgentsOwn).
//   - The same failure of the same hook is one warning (TestAFailureIsToldOnce).
//   - What asynchronous hooks print reaches the agent at its next event; they end with
//     the scope (TestAsynchronousHooksReportLater).
package agenthook

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Options say whose hooks they are. All may be empty: then no hook runs.
type Options struct {
	Session     string // its id
	Dir         string // the directory of the session
	Transcripts string // directory of the agents' conversations
	// Load reads the hooks of the settings files. It is called at each event.
	Load func() []hook.File
	// Own returns the hooks in the definition of an agent, if it has any.
	Own func(agent.Spec) (f hook.File, ok bool)
	// Warn tells observers what is wrong with a hook, or what a hook wants a person to
	// know.
	Warn   func(a agent.Spec, text string)
	Getenv func(string) string // nil is os.Getenv
	// Scope ends asynchronous hooks; nil refuses them.
	Scope context.Context
}

// Hooks runs the hooks of one process's agents. Its methods may be called from any
// goroutine.
type Hooks struct {
	o          Options
	background sync.WaitGroup

	mu     sync.Mutex
	sets   map[string]parsed            // by agent type, "" for agents without hooks of their own; guarded by mu
	warned map[string]bool              // guarded by mu
	late   map[mailbox.AgentID][]string // contexts of asynchronous hooks; guarded by mu
}

// parsed is a set with the files that it was made of.
type parsed struct {
	files []hook.File
	set   *hook.Set
}

// New returns the hooks. Nothing is read before the first event.
func New(o Options) *Hooks {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Warn == nil {
		o.Warn = func(agent.Spec, string) {}
	}
	return &Hooks{o: o, sets: map[string]parsed{}, warned: map[string]bool{}, late: map[mailbox.AgentID][]string{}}
}

// Wait returns when no asynchronous hook runs. The scope must have ended.
func (h *Hooks) Wait() { h.background.Wait() }

// set returns the hooks that are in force for an agent now.
func (h *Hooks) set(a agent.Spec) *hook.Set {
	if h.o.Load == nil {
		return nil
	}
	files, key := h.o.Load(), ""
	if h.o.Own != nil {
		if f, ok := h.o.Own(a); ok {
			f.Agent = true
			files, key = append(slices.Clip(files), f), a.Type
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.sets[key]
	if !ok || !slices.EqualFunc(p.files, files, sameFile) {
		set, _ := hook.Parse(files) // mistakes are reported at the start
		p = parsed{files, set}
		h.sets[key] = p
	}
	return p.set
}

func sameFile(a, b hook.File) bool {
	return a.Path == b.Path && bytes.Equal(a.Hooks, b.Hooks) && a.Untrusted == b.Untrusted && same(a.DisableAll, b.DisableAll) &&
		a.ManagedOnly == b.ManagedOnly && sameList(a.URLs, b.URLs) && sameList(a.Env, b.Env)
}

func same[T comparable](a, b *T) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }

func sameList(a, b *[]string) bool {
	return (a == nil) == (b == nil) && (a == nil || slices.Equal(*a, *b))
}

// occurrence is an event of one agent.
type occurrence struct {
	event   string
	subject string // for matchers
	fields  map[string]any
	covers  func(rule string) bool
}

// run runs the hooks of an event and warns of those that fail.
func (h *Hooks) run(ctx context.Context, a agent.Spec, e occurrence) []hook.Outcome {
	set := h.set(a)
	if !set.Listens(e.event) {
		return nil
	}
	call := hook.Call{
		Event: e.event, Subject: e.subject, Input: h.input(a, e.fields), Dir: h.dir(a), Env: h.environment(a),
		Covers: e.covers, Getenv: h.o.Getenv, Late: func(o hook.Outcome) { h.addLate(a, o) },
	}
	if h.o.Scope != nil {
		call.Background = func(run func(context.Context)) { h.background.Go(func() { run(h.o.Scope) }) }
	}
	out := set.Run(ctx, call)
	if context.Cause(ctx) == nil {
		for _, o := range out {
			h.warn(a, o)
		}
	}
	return out
}

// input returns the fields that all events have, and those of one.
func (h *Hooks) input(a agent.Spec, fields map[string]any) map[string]any {
	in := map[string]any{"session_id": h.o.Session, "cwd": h.dir(a)}
	if a.ID != "" {
		in["transcript_path"] = h.transcript(a.ID)
		in["permission_mode"] = a.Mode
	}
	if a.Role != agent.Lead && a.ID != "" {
		in["agent_id"], in["agent_type"] = a.ID, a.Type
	}
	maps.Copy(in, fields)
	return in
}

func (h *Hooks) transcript(id mailbox.AgentID) string {
	return filepath.Join(h.o.Transcripts, string(id)+".jsonl")
}

// dir is where the hooks of an agent run: where it works, while that is there.
func (h *Hooks) dir(a agent.Spec) string {
	if info, err := os.Stat(a.Dir); err == nil && info.IsDir() {
		return a.Dir
	}
	return h.o.Dir
}

func (h *Hooks) environment(a agent.Spec) []string {
	env := append(childenv.Of(h.o.Getenv, nil), builtin.Marks(h.o.Session, string(a.ID))...)
	return append(env, "CLAUDE_PROJECT_DIR="+h.o.Dir, "CLAUDE_CODE_SESSION_ID="+h.o.Session)
}

// warn passes on what a hook wants a person to know, and how it failed.
func (h *Hooks) warn(a agent.Spec, o hook.Outcome) {
	if o.Output != nil && o.Output.SystemMessage != "" {
		h.o.Warn(a, o.Output.SystemMessage)
	}
	_, blocked := o.Blocked()
	if err := o.Failure(); err != nil && !blocked && !o.Broken && o.Output == nil {
		h.warnOnce(a, err.Error())
	}
}

func (h *Hooks) warnOnce(a agent.Spec, text string) {
	h.mu.Lock()
	known := h.warned[text]
	h.warned[text] = true
	h.mu.Unlock()
	if !known {
		h.o.Warn(a, text)
	}
}

// addLate keeps what an asynchronous hook has for its agent.
func (h *Hooks) addLate(a agent.Spec, o hook.Outcome) {
	h.warn(a, o)
	texts := contexts([]hook.Outcome{o}, false)
	if o.Rewake && o.Code == 2 {
		texts = append(texts, strings.TrimSpace(o.Stderr))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late[a.ID] = append(h.late[a.ID], texts...)
}

// takeLate returns what asynchronous hooks have had for an agent since the last call.
func (h *Hooks) takeLate(id mailbox.AgentID) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	texts := h.late[id]
	delete(h.late, id)
	return texts
}

// maxText is how much of a text of a hook an agent is given, in bytes.
const maxText = 10_000

// contexts returns what hooks add to the conversation: additionalContext and, where
// plain is set, what they print without JSON.
func contexts(all []hook.Outcome, plain bool) (texts []string) {
	for _, o := range all {
		text := ""
		switch {
		case o.Err != nil || o.Code != 0 && o.Output == nil:
		case o.Output != nil:
			var specific struct {
				Context string `json:"additionalContext"`
			}
			if json.Unmarshal(o.Output.Specific, &specific) == nil {
				text = specific.Context
			}
		case plain:
			text = o.Stdout
		}
		if text = strings.TrimSpace(text); text != "" {
			texts = append(texts, limited(text))
		}
	}
	return texts
}

func limited(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "\n(the rest of what the hook printed is left out)"
}
