package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/tui"
)

// attended is a session as package tui wants it.
type attended struct{ s *swarm.Session }

func (t attended) Events() *event.Subscription { return t.s.Events() }
func (t attended) Begin() error                { return t.s.Begin() }
func (t attended) Say(text string) error       { return t.s.Say(text) }
func (t attended) Interrupt() bool             { return t.s.Interrupt() }
func (t attended) Background() []string        { return t.s.BackgroundForeground() }
func (t attended) SetModel(name string) error  { return t.s.SetModel(name) }

func (t attended) Stop(ctx context.Context, name string) error { return t.s.Stop(ctx, name) }

func (t attended) Compact(ctx context.Context, name string) error { return t.s.Compact(ctx, name) }

// Send writes to an agent. Of a message to all, those that it did not reach are
// the error.
func (t attended) Send(to, text string) ([]string, error) {
	posted, err := t.s.Send(to, text)
	var names []string
	for _, p := range posted {
		if p.Err != nil {
			err = errors.Join(err, p.Err)
			continue
		}
		names = append(names, leadOr(clean(p.Name)))
	}
	return names, err
}

func leadOr(name string) string {
	if name == "team-lead" {
		return "lead"
	}
	return name
}

func (t attended) Agents() []tui.Row {
	var rows []tui.Row
	for _, p := range agentRows(t.s.Agents()) {
		rows = append(rows, tui.Row{
			ID: p.ID, Name: p.Name, Color: p.Color, Model: p.Model, State: p.state(), Since: p.Since, Extra: p.extra(),
			Working: p.Running, Ended: p.Closed,
		})
	}
	return rows
}

// extra is what a line says of an agent besides its state.
func (p psAgent) extra() string {
	parts := []string{plural(p.Steps, "step"), tokens(p.Usage) + " tokens"}
	if p.Role == "background" {
		parts = append(parts, p.Role)
	}
	return strings.Join(parts, " · ")
}

func (t attended) Questions() []tui.Question {
	var all []tui.Question
	for _, q := range t.s.Questions() {
		all = append(all, asked(q))
	}
	return all
}

// asked is a question as it is put at a terminal. One with several parts is
// answered by a text as a whole.
func asked(q swarm.Question) tui.Question {
	out := tui.Question{
		ID: q.ID, Agent: label(q.Agent), Color: q.Agent.Color, Text: q.Summary, Reason: q.Reason,
		Consent: q.Kind == event.AsksPermission, Always: strings.Join(q.Rules, " "),
	}
	if out.Consent {
		return out
	}
	var parts []string
	for _, c := range q.Choices {
		parts = append(parts, c.Question)
		for _, o := range c.Options {
			choice := join(o.Label, o.Description)
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
	return t.s.Answer(id, out)
}

// labels returns the labels of choices that were picked as they were shown.
func (t attended) labels(id string, picked []string) []string {
	var labels []string
	for _, q := range t.s.Questions() {
		if q.ID != id || len(q.Choices) != 1 {
			continue
		}
		for _, o := range q.Choices[0].Options {
			if slices.Contains(picked, join(o.Label, o.Description)) {
				labels = append(labels, o.Label)
			}
		}
	}
	return labels
}
