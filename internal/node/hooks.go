package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// newHooks returns the hooks of the agents of this process. A call that they defer fails
// the session.
func (n *Node) newHooks(scope context.Context, fail func(error)) *agenthook.Hooks {
	n.hookFiles = newHookFiles(n.options.Config)
	n.hookFiles.load() // as they are at the start
	o := agenthook.Options{
		Session: n.options.Session, Dir: n.options.Dir, Transcripts: filepath.Join(n.options.Path, "transcripts"), Getenv: n.options.Getenv,
		Scope: scope, Load: n.hookFiles.load, Own: func(s agent.Spec) (hook.File, bool) { return n.hookFiles.own(n.options.Definitions, s) },
		Warn:  func(a agent.Spec, text string) { n.Events.Publish(agent.Describe(a), event.Warning{Text: text}) },
		Place: n.options.HookPlace(n.options.Path),
		Rouse: n.rouse, Variables: n.variables, Judge: n.newJudge(), Servers: n.servers, Server: n.serverOf,
		Save: func(a agent.Spec, id, text string) (string, error) { return n.outputs().save(a.ID, id, text) },
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

// rouse wakes an agent with a text of a hook. The text is a message, since the agent may be
// in a turn that makes no further request: a message is read then in the next one.
func (n *Node) rouse(a agent.Spec, text string) error {
	t, ok := n.Store.Get(a.ID)
	if !ok {
		return transcript.ErrClosed
	}
	_, _, err := t.Send(mailbox.Envelope{
		To: mailbox.Address{Agent: a.ID}, FromName: "hook", ToName: agent.DisplayName(a), Kind: mailbox.KindAgentReport,
		Summary: mailbox.FirstLine(text, 180), Body: text,
	})
	return err
}

// begin runs the hooks of the start of a session, once.
func (l *Lead) begin(spec agent.Spec) {
	l.begun.Do(func() {
		source := "startup"
		if l.existed {
			source = "resume"
		}
		l.options.Hooks.SessionStart(l.options.Scope, spec, source)
		for _, f := range l.options.Instructions() {
			l.options.Hooks.InstructionsLoaded(l.options.Scope, spec, agenthook.Instructions{Path: f.Path, Kind: f.Kind})
		}
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
