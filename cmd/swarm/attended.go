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
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/tui"
	"github.com/actorswarm/swarm/team"
)

// talker is what a person talks with: a session of this process, or a link to
// one of another.
type talker interface {
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

// attended is a session as package tui wants it.
type attended struct {
	talker
	own *own
}

// Say gives the lead a text that is on the screen already.
func (t attended) Say(text string) error {
	t.own.begin(text)
	err := t.talker.Say(text)
	told := 1
	if err != nil {
		told = 0
	}
	t.own.end(text, told)
	return err
}

func (t attended) Background() []string { return t.BackgroundForeground() }

// Send writes to an agent. Of a message to all, those that it did not reach are
// the error.
func (t attended) Send(to, text string) ([]string, error) {
	t.own.begin(text)
	posted, err := t.talker.Send(to, text)
	var names []string
	for _, p := range posted {
		if p.Err != nil {
			err = errors.Join(err, p.Err)
			continue
		}
		names = append(names, leadOr(term.Clean(p.Name)))
	}
	t.own.end(text, len(names))
	return names, err
}

// own knows which of the user's texts were typed at this terminal: they are on
// its screen, and those of other terminals are not.
type own struct {
	mu sync.Mutex
	n  map[string]int // events to come, by text; guarded by mu
}

// manyEvents is more than one text can cause. So many are expected until it is
// known how many there are: they may come before that is known.
const manyEvents = 1 << 30

func newOwn() *own { return &own{n: map[string]int{}} }

func (o *own) begin(text string)           { o.add(text, manyEvents) }
func (o *own) end(text string, events int) { o.add(text, events-manyEvents) }
func (o *own) add(text string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.n[text] += n; o.n[text] <= 0 {
		delete(o.n, text)
	}
}

// has reports whether an event is of a text that was typed here.
func (o *own) has(text string) bool {
	o.mu.Lock()
	was := o.n[text] > 0
	o.mu.Unlock()
	if was {
		o.add(text, -1)
	}
	return was
}

func leadOr(name string) string {
	if name == "team-lead" {
		return "lead"
	}
	return name
}

func (t attended) Agents() []tui.Row {
	var rows []tui.Row
	for _, p := range view.AgentRows(t.talker.Agents()) {
		rows = append(rows, tui.Row{
			ID: p.ID, Name: p.Name, Color: p.Color, Model: p.Model, State: p.StateText(), Since: p.Since, Extra: p.EffortText(),
			Working: p.Running, Ended: p.Closed,
		})
	}
	return rows
}

func (t attended) Questions() []tui.Question {
	var all []tui.Question
	for _, q := range t.talker.Questions() {
		all = append(all, asked(q))
	}
	return all
}

// shownColumns is how much of a summary there is room for in the question.
const shownColumns = 200

// asked is a question as it is put at a terminal. One with several parts is
// answered by a text as a whole.
func asked(q swarm.Question) tui.Question {
	out := tui.Question{
		ID: q.ID, Agent: view.AgentLabel(q.Agent), Color: q.Agent.Color, Text: q.Summary, FullText: view.FullText(q, shownColumns), Reason: q.Reason,
		Consent: q.Kind == event.AsksPermission, Always: strings.Join(q.Rules, " "),
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

func (t attended) Answer(id string, a tui.Answer) error {
	out := swarm.Answer{Allow: a.Allow, Always: a.Always, Note: a.Note, Text: a.Text}
	if len(a.Picked) > 0 {
		out.Choices, out.Text = [][]string{t.labels(id, a.Picked)}, ""
	}
	return t.talker.Answer(id, out)
}

// labels returns the labels of choices that were picked as they were shown.
func (t attended) labels(id string, picked []string) []string {
	var labels []string
	for _, q := range t.talker.Questions() {
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
