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
//     the scope (TestAsynchronousHooksReportLater). One with asyncRewake that exits with
//     code 2 wakes the agent (TestAsyncRewakeWakesTheAgent).
//   - A hook that starts sessions whose hooks start sessions comes to an end
//     (TestHooksThatStartSessionsEnd).
//   - A handler with once that has succeeded for one agent does not run for another
//     (TestOnceIsForAllAgents).
package agenthook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Options configure the hooks of a session. All may be empty: then no hook runs.
type Options struct {
	Session     string // its id
	Dir         string // the directory of the session
	Transcripts string // directory of the agents' conversations
	// Load reads the hooks of the settings files. It is called at each event.
	Load func() []hook.File
	// Own returns the hooks in the definition of an agent, with Agent set, if it has any.
	Own func(agent.Spec) (f hook.File, ok bool)
	// Warn reports what is wrong with a hook, or what a hook wants a person to
	// know.
	Warn   func(a agent.Spec, text string)
	Getenv func(string) string // nil is os.Getenv
	// Place is what hooks do not see.
	Place sandbox.Place
	// Scope ends asynchronous hooks; nil refuses them.
	Scope context.Context
	// Rouse gives an agent a text and wakes it. If it is nil, such a text waits for the
	// agent's next event.
	Rouse func(a agent.Spec, text string) error
	// Save writes a long text of a hook to a file that its agent may read; nil cuts it.
	Save func(a agent.Spec, id, text string) (path string, err error)
	// Variables gets what hooks set for later commands; nil drops it.
	Variables Variables
	// Grant adds rules to what the session allows; nil refuses that.
	Grant func(rules []string) error
	// Defer ends the process with the turn of the lead open at a call; nil if somebody can
	// be asked.
	Defer func(a agent.Spec, c Call)
	// Judge answers handlers of type prompt and agent, Servers those of type mcp_tool.
	// If they are nil, such handlers fail.
	Judge   Judge
	Servers hook.Servers
	// Server returns the MCP server that has a tool, and where it is configured; nil knows
	// none.
	Server func(tool string) (name, source string, ok bool)
}

// Variables hold what hooks set for later commands.
type Variables interface {
	// Add adds the texts of files that hooks of an event have written; with fresh it
	// replaces what such hooks have written before.
	Add(event string, files []string, fresh bool) error
}

// Judge answers the questions of handlers in the name of an agent.
type Judge interface {
	Judge(ctx context.Context, a agent.Spec, q hook.Question) (answer string, err error)
}

// judge answers in the name of one agent.
type judge struct {
	all Judge
	a   agent.Spec
}

func (j judge) Judge(ctx context.Context, q hook.Question) (string, error) {
	return j.all.Judge(ctx, j.a, q)
}

// Hooks runs the hooks of one process's agents. Its methods may be called from any
// goroutine.
type Hooks struct {
	o          Options
	background sync.WaitGroup

	mu     sync.Mutex
	sets   map[string]parsed            // by agent type, "" for agents without hooks of their own; guarded by mu
	warned map[string]bool              // guarded by mu
	watch  []string                     // paths that hooks watch; guarded by mu
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
	all := h.parse("", h.o.Load(), func(files []hook.File) *hook.Set {
		set, _ := hook.Parse(files) // mistakes are reported at the start
		return set
	})
	if h.o.Own == nil {
		return all
	}
	own, ok := h.o.Own(a)
	if !ok {
		return all
	}
	return h.parse(a.Type, []hook.File{own}, func([]hook.File) *hook.Set { return all.With(own) })
}

// parse returns the set of a key, which is made anew when the files, or the set of all
// agents, have changed.
func (h *Hooks) parse(key string, files []hook.File, parse func([]hook.File) *hook.Set) *hook.Set {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, ok := h.sets[key]
	if !ok || !slices.EqualFunc(p.files, files, hook.File.Equal) {
		p = parsed{files, parse(files)}
		if key == "" {
			clear(h.sets)
		}
		h.sets[key] = p
	}
	return p.set
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
		Event: e.event, Subject: e.subject, Input: h.input(a, e.fields), Dir: h.dir(a), Env: h.environment(a), Place: h.o.Place,
		Covers: e.covers, Getenv: h.o.Getenv, Servers: h.o.Servers, Late: func(o hook.Outcome) { h.addLate(a, e.event, o) },
	}
	if h.o.Judge != nil {
		call.Judge = judge{h.o.Judge, a}
	}
	if h.o.Scope != nil {
		call.Background = func(run func(context.Context)) { h.background.Go(func() { run(h.o.Scope) }) }
	}
	out := set.Run(ctx, call)
	if context.Cause(ctx) == nil {
		for _, o := range out {
			h.warn(a, e.event, o)
		}
	}
	h.addVariables(a, e.event, out, e.event != "FileChanged")
	h.setWatched(e.event, out)
	return out
}

// addVariables passes on what hooks set for later commands.
func (h *Hooks) addVariables(a agent.Spec, event string, all []hook.Outcome, fresh bool) {
	if known, _ := hook.FindEvent(event); !known.Environ || h.o.Variables == nil {
		return
	}
	var files []string
	for _, o := range all {
		files = append(files, o.Environ)
	}
	if err := h.o.Variables.Add(event, files, fresh); err != nil {
		h.warnOnce(a, err.Error())
	}
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
	return append(env, "CLAUDE_PROJECT_DIR="+h.o.Dir, "CLAUDE_CODE_SESSION_ID="+h.o.Session, fmt.Sprintf("%s=%d", depthVar, depth(h.o.Getenv)+1))
}

const (
	// depthVar is how many hooks, each of a session that the one before has started, are
	// above a process.
	depthVar = "SWARM_HOOK_DEPTH"
	maxDepth = 3
)

func depth(getenv func(string) string) int {
	n, err := strconv.Atoi(getenv(depthVar))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// CheckDepth returns an error in a process that a hook has started whose session a hook
// has started, and so on: a hook that starts sessions in its own directory would never end.
func CheckDepth(getenv func(string) string) error {
	if depth(getenv) < maxDepth {
		return nil
	}
	return fmt.Errorf("no session starts below %d hooks that have started each other's; take swarm out of the hook, or run it in another directory", maxDepth)
}

// warn passes on what a hook wants a person to know, and how it failed.
func (h *Hooks) warn(a agent.Spec, event string, o hook.Outcome) {
	if o.Output != nil && o.Output.SystemMessage != "" {
		h.o.Warn(a, limited(o.Output.SystemMessage))
	}
	known, _ := hook.FindEvent(event)
	why, blocked := o.Blocked()
	switch err := o.Failure(); {
	case o.Broken:
	case blocked && known.Blocks:
	case blocked:
		h.warnOnce(a, fmt.Sprintf("the hook %q of %s objects, which has no effect at %s: %s", o.Command, o.Source, event, limited(why)))
	case err != nil && (o.Output == nil || o.Code == 0):
		h.warnOnce(a, err.Error())
	}
	if o.Problem != "" && o.Failure() == nil {
		h.warnOnce(a, fmt.Sprintf("the hook %q of %s: %s", o.Command, o.Source, o.Problem))
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

// addLate keeps what an asynchronous hook has for its agent, or wakes the agent with it.
func (h *Hooks) addLate(a agent.Spec, event string, o hook.Outcome) {
	texts := h.contexts(a, []hook.Outcome{o}, false)
	h.addVariables(a, event, []hook.Outcome{o}, false)
	if !o.Rewake || o.Code != 2 || o.Err != nil {
		h.warn(a, event, o)
		h.keepLate(a, texts)
		return
	}
	texts = append(texts, h.cut(a, cmp.Or(strings.TrimSpace(o.Stderr), strings.TrimSpace(o.Stdout), "the hook gave no reason")))
	if h.o.Rouse == nil {
		h.keepLate(a, texts)
		return
	}
	if err := h.o.Rouse(a, strings.Join(texts, "\n")); err != nil {
		h.o.Warn(a, fmt.Sprintf("the hook %q of %s could not wake %s: %v", o.Command, o.Source, agent.DisplayName(a), err))
	}
}

func (h *Hooks) keepLate(a agent.Spec, texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(texts) > 0 {
		h.late[a.ID] = append(h.late[a.ID], texts...)
	}
}

// takeLate returns what asynchronous hooks have had for an agent since the last call.
func (h *Hooks) takeLate(id mailbox.AgentID) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	texts := h.late[id]
	delete(h.late, id)
	return texts
}
