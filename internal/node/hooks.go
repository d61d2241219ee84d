package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
)

// hookFiles reads the hooks of the settings files. A file that has changed and is not
// trusted as it is now stays in force as it was, so that no agent can take a guard away
// by an edit. Its methods may be called from any goroutine.
type hookFiles struct {
	config Config
	warn   func(string)

	mu      sync.Mutex
	trusted map[string]hook.File // the last trusted state by path; guarded by mu
	changed map[string]bool      // files that were warned of; guarded by mu
}

func newHookFiles(c Config, warn func(string)) *hookFiles {
	return &hookFiles{config: c, warn: warn, trusted: map[string]hook.File{}, changed: map[string]bool{}}
}

// load returns the files that are in force now.
func (h *hookFiles) load() []hook.File {
	files, _ := settings.HookFiles(h.config.Sources(), h.config.trusts)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, f := range files {
		old, known := h.trusted[f.Path]
		switch {
		case !f.Untrusted:
			h.trusted[f.Path] = f
		case known:
			files[i] = old
			if !h.changed[f.Path] && !bytes.Equal(old.Hooks, f.Hooks) {
				h.changed[f.Path] = true
				h.warn(f.Path + ": its hooks have changed since they were trusted and stay as they were; see them with: swarm trust")
			}
		}
	}
	return files
}

// own returns the hooks in an agent's definition, if the user trusts them.
func (h *hookFiles) own(d *Definitions, spec agent.Spec) (f hook.File, ok bool) {
	def, ok := d.Set().Lookup(spec.Type)
	if !ok || len(def.Hooks) == 0 {
		return f, false
	}
	item, needed := settings.DefinitionItem(def)
	f = hook.File{Path: def.Path, Hooks: def.Hooks, Untrusted: needed && !h.config.trusts(item)}
	return f, true
}

// newHooks returns the hooks of the agents of this process. A call that they defer fails
// the session.
func (n *Node) newHooks(scope context.Context, fail func(error)) *agenthook.Hooks {
	files := newHookFiles(n.options.Config, n.Warn)
	o := agenthook.Options{
		Session: n.options.Session, Dir: n.options.Dir, Transcripts: filepath.Join(n.options.Path, "transcripts"), Getenv: n.options.Getenv,
		Scope: scope, Load: files.load, Own: func(s agent.Spec) (hook.File, bool) { return files.own(n.options.Definitions, s) },
		Warn:  func(a agent.Spec, text string) { n.Events.Publish(agent.Describe(a), event.Warning{Text: text}) },
		Rouse: n.rouse, Variables: n.variables, Judge: n.newJudge(),
		Save: func(id, text string) (string, error) { return n.saveOutput("", id, text) },
	}
	if n.services.Owner == nil { // rules, and the end of the session, are the owner's
		o.Grant = n.options.Rules.Grant
		if !n.policy.Asks() {
			o.Defer = func(_ agent.Spec, c agenthook.Call) {
				fail(&actors.DeferredError{ID: c.ID, Tool: c.Name, Input: c.Input})
			}
		}
	}
	return agenthook.New(o)
}

// rouse gives an agent a text of a hook and wakes it.
func (n *Node) rouse(a agent.Spec, text string) error {
	t, ok := n.Store.Get(a.ID)
	if !ok {
		return transcript.ErrClosed
	}
	if err := t.Prompt("hook", turn.Reminder([]string{text})); err != nil {
		return err
	}
	n.Agents.Wake(a.ID)
	return nil
}

// begin runs the hooks of the start of a session, once.
func (l *Lead) begin(spec agent.Spec) {
	l.begun.Do(func() {
		source := "startup"
		if l.existed {
			source = "resume"
		}
		l.options.Hooks.SessionStart(l.options.Scope, spec, source)
	})
}

// end runs the hooks of the end of a session that has begun, once.
func (l *Lead) end(ctx context.Context) {
	t, ok := l.options.Store.Get(agent.LeadID)
	began := true
	l.begun.Do(func() { began = false })
	if ok && began {
		l.ended.Do(func() { l.options.Hooks.SessionEnd(ctx, t.Spec(), "other") })
	}
}

// Prompt gives the lead a prompt of the user, with what hooks add. The error wraps
// agenthook.ErrBlocked if a hook has blocked it.
func (l *Lead) Prompt(ctx context.Context, lead *transcript.Transcript, text string) error {
	spec := lead.Spec()
	l.begin(spec)
	e := l.options.Hooks.UserPromptSubmit(ctx, spec, text)
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case e.Blocked, e.Stop != "":
		return fmt.Errorf("the prompt was not sent: %w: %s", agenthook.ErrBlocked, e.Reason+e.Stop)
	}
	err := error(nil)
	if reminder := turn.Reminder(e.Context); reminder != "" {
		err = lead.Prompt("hook", reminder)
	}
	return errors.Join(err, lead.Prompt("user", text))
}
