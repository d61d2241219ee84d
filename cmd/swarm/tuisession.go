package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/tui"
	"github.com/actorswarm/swarm/team"
)

// interactiveSession is a session for a person: one of this process, or a link to one
// of another.
type interactiveSession interface {
	Events() *event.Subscription
	Begin() error
	Say(text string) error
	Send(to, text string) ([]team.SendResult, error)
	Interrupt() bool
	InterruptAgent(name string) (bool, error)
	BackgroundForeground() []string
	SetModel(name string) error
	Compact(ctx context.Context, name string) error
	Stop(ctx context.Context, name string) error
	Agents() []actors.Status
	Types() []swarm.AgentType
	Teams() []team.Team
	Team(ctx context.Context, name string) (team.Status, error)
	Questions() []swarm.Question
	Answer(id string, a swarm.Answer) error
}

// tuiSession implements tui.Session.
type tuiSession struct {
	interactiveSession
	own *typedTexts
}

// Say sends a text to the lead that is on the screen already.
func (t tuiSession) Say(text string) error {
	t.own.begin(text)
	err := t.interactiveSession.Say(text)
	told := 1
	if err != nil {
		told = 0
	}
	t.own.end(text, told)
	return err
}

func (t tuiSession) Background() []string { return t.BackgroundForeground() }

// Send writes to an agent. For a message to all, the error names the agents that did
// not get it.
func (t tuiSession) Send(to, text string) ([]string, error) {
	t.own.begin(text)
	posted, err := t.interactiveSession.Send(to, text)
	var names []string
	for _, p := range posted {
		if p.Err != nil {
			err = errors.Join(err, p.Err)
			continue
		}
		names = append(names, displayName(term.Clean(p.Name)))
	}
	t.own.end(text, len(names))
	return names, err
}

// typedTexts records which of the user's texts were typed at this terminal: they are on
// its screen, unlike those of other terminals.
type typedTexts struct {
	mu sync.Mutex
	n  map[string]int // events to come, by text; guarded by mu
}

// maxEventsPerText is more than the number of events of one text. It is assumed until
// the number is known, because events can come earlier.
const maxEventsPerText = 1 << 30

func newTypedTexts() *typedTexts { return &typedTexts{n: map[string]int{}} }

func (o *typedTexts) begin(text string)           { o.add(text, maxEventsPerText) }
func (o *typedTexts) end(text string, events int) { o.add(text, events-maxEventsPerText) }
func (o *typedTexts) add(text string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n[text] += n; o.n[text] <= 0 {
		delete(o.n, text)
	}
}

// has reports whether an event is about a text that was typed here.
func (o *typedTexts) has(text string) bool {
	o.mu.Lock()
	was := o.n[text] > 0
	o.mu.Unlock()
	if was {
		o.add(text, -1)
	}
	return was
}

func displayName(name string) string {
	if name == "team-lead" {
		return "lead"
	}
	return name
}

func (t tuiSession) Agents() []tui.Row {
	var rows []tui.Row
	for _, p := range view.AgentRows(t.interactiveSession.Agents()) {
		rows = append(rows, tui.Row{
			ID: p.ID, Name: p.Name, Color: p.Color, Model: p.Model, State: p.StateText(), Since: p.Since, Extra: p.EffortText(),
			Working: p.Running, Ended: p.Closed,
		})
	}
	return rows
}

func (t tuiSession) Questions() []tui.Question {
	var all []tui.Question
	for _, q := range t.interactiveSession.Questions() {
		all = append(all, tuiQuestion(q))
	}
	return all
}

// shownColumns is the width of a question's summary.
const shownColumns = 200

// tuiQuestion converts a question for the terminal. One with several parts is answered
// by a text.
func tuiQuestion(q swarm.Question) tui.Question {
	out := tui.Question{
		ID: q.ID, Agent: view.AgentLabel(q.Agent), Color: q.Agent.Color, Text: q.Summary, FullText: view.FullText(q, shownColumns), Reason: q.Reason,
		Consent: q.Kind == event.AsksPermission, Always: strings.Join(q.Rules, " "), Means: permission.Describe(q.Rules),
	}
	if out.Consent {
		return out
	}
	out.Several = len(q.Choices) == 1 && q.Choices[0].MultiSelect
	var parts []string
	for _, c := range q.Choices {
		parts = append(parts, c.Question)
		for _, o := range c.Options {
			choice := view.Join(o.Label, o.Description)
			if len(q.Choices) > 1 {
				parts = append(parts, "- "+choice)
			} else {
				out.Choices = append(out.Choices, choice)
			}
		}
	}
	out.Text = strings.Join(parts, "\n")
	return out
}

func (t tuiSession) Answer(id string, a tui.Answer) error {
	out := swarm.Answer{Allow: a.Allow, Always: a.Always, Scope: a.Scope, Note: a.Note, Text: a.Text}
	if len(a.Picked) > 0 {
		out.Choices, out.Text = [][]string{t.labels(id, a.Picked)}, ""
	}
	return t.interactiveSession.Answer(id, out)
}

// labels returns the labels of choices that were selected.
func (t tuiSession) labels(id string, picked []string) []string {
	var labels []string
	for _, q := range t.interactiveSession.Questions() {
		if q.ID != id || len(q.Choices) != 1 {
			continue
		}
		for _, o := range q.Choices[0].Options {
			if slices.Contains(picked, view.Join(o.Label, o.Description)) {
				labels = append(labels, o.Label)
			}
		}
	}
	return labels
}
