package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/term"
)

// runner runs actions. The texts that it returns are for the user.
type runner struct {
	session Session
	options Options
}

// isView reports whether an action only shows something.
func (d runner) isView(a action) bool {
	c, ok := a.(command)
	return ok && slices.ContainsFunc(d.options.Views, func(v View) bool { return v.Name == c.name })
}

// isLong reports whether an action may take as long as a step of an agent. The actions
// after it do not wait for it.
func isLong(a action) bool {
	c, ok := a.(command)
	return ok && c.name == "compact"
}

// startedNotice is shown while a long action runs.
const startedNotice = "requested; you will see when it is done, at the agent's next step"

// errQuit reports that the user wants to leave.
var errQuit = errors.New("the user leaves")

// ErrDetached is returned by Run if the user leaves and wants the session to continue
// without a terminal.
var ErrDetached = errors.New("the user has detached from the session")

// do runs an action and waits for its end.
func (d runner) do(ctx context.Context, a action) (string, error) {
	switch a := a.(type) {
	case sendLead:
		return "", d.session.Say(a.text)
	case sendAgent:
		to, err := d.session.Send(a.to, a.text)
		if err != nil {
			return "", err
		}
		return "sent to " + strings.Join(to, ", "), nil
	case answerQuestion:
		return d.answer(a)
	case command:
		return d.command(ctx, a)
	case syntaxError:
		return "", errors.New(a.text)
	}
	return "", nil
}

func (d runner) answer(a answerQuestion) (string, error) {
	if err := d.session.Answer(a.question.ID, a.answer); err != nil {
		return "", err
	}
	what := "answered: " + a.answer.Text
	if len(a.answer.Picked) > 0 {
		what = "answered: " + strings.Join(a.answer.Picked, ", ")
	}
	switch {
	case !a.question.Consent:
	case a.answer.Always && a.answer.Scope != "":
		what = "allowed, from now on " + a.question.Always + " by the settings (" + a.answer.Scope + ")"
	case a.answer.Always:
		what = "allowed, from now on " + a.question.Always
	case a.answer.Allow:
		what = "allowed"
	default:
		what = "refused"
	}
	return a.question.Agent + " · " + a.question.Text + " · " + what, nil
}

func (d runner) command(ctx context.Context, c command) (string, error) {
	switch c.name {
	case "help":
		return d.help(), nil
	case "quit":
		return "", errQuit
	case "detach":
		return "", ErrDetached
	case "interrupt":
		return d.interrupt(c.arg)
	case "model":
		return d.model(c.arg)
	case "stop":
		if err := d.session.Stop(ctx, c.arg); err != nil {
			return "", err
		}
		return c.arg + " has stopped; a message wakes it again", nil
	case "compact":
		name := c.arg
		if name == "" {
			name = string(Lead)
		}
		if err := d.session.Compact(ctx, name); err != nil {
			return "", err
		}
		return name + " has compacted its conversation", nil
	}
	for _, v := range d.options.Views {
		if v.Name == c.name {
			return strings.TrimRight(v.Show(c.arg), "\n"), nil
		}
	}
	return "", fmt.Errorf("there is no command /%s", c.name)
}

func (d runner) interrupt(name string) (string, error) {
	switch cut, err := d.session.InterruptAgent(name); {
	case err != nil:
		return "", err
	case !cut:
		return name + " is in no turn", nil
	}
	return name + "'s turn has ended; a message begins another", nil
}

func (d runner) model(name string) (string, error) {
	if name == "" {
		for _, r := range d.session.Agents() {
			if r.ID == Lead {
				return "the lead's model is " + r.Model, nil
			}
		}
		return "the lead has no model yet", nil
	}
	if err := d.session.SetModel(name); err != nil {
		return "", err
	}
	return "the lead's model is " + name + " from its next turn on", nil
}

func (d runner) help() string {
	rows := [][2]string{
		{"TEXT", "write to the lead, also while it works"},
		{"@NAME TEXT", "write to any agent; Tab completes the name"},
		{"y, n, n TEXT", "answer an agent that asks; TEXT says why not"},
		{"a", "answer yes, and always in this session"},
		{"a local, a user", "the same for good, in your settings file of the project, or of your home"},
	}
	rows = append(rows, d.commandHelp()...)
	if d.options.Plain {
		return aligned(append(rows, [2]string{"Ctrl-C", "end the foreground turn; at rest twice: leave"}))
	}
	return aligned(append(rows, keyHelp[:]...))
}

// commandHelp returns the commands by name.
func (d runner) commandHelp() [][2]string {
	var rows [][2]string
	for _, h := range builtinCommands {
		if h.name == "quit" {
			h.help += d.options.Leave
		}
		rows = append(rows, [2]string{"/" + h.name + h.arg, h.help})
	}
	for _, v := range d.options.Views {
		rows = append(rows, [2]string{"/" + v.Name + v.Arg, v.Help})
	}
	slices.SortFunc(rows, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return rows
}

// aligned returns rows of two columns, the second of which begins at the same place.
func aligned(rows [][2]string) string {
	wide := 0
	for _, r := range rows {
		wide = max(wide, term.Width(r[0]))
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, r[0], r[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var keyHelp = [...][2]string{
	{"Esc", "end the foreground turn; background agents go on"},
	{"Ctrl-B", "let what the lead waits for go on in the background"},
	{"Alt-Enter, Ctrl-J", "begin another line"},
	{"Up, Down", "what was typed before"},
	{"Ctrl-C twice", "leave, as Ctrl-D on an empty line does"},
}

// echo returns how a typed line stays on the screen.
func echo(text string) string {
	return prompt + strings.ReplaceAll(term.CleanLines(text), "\n", "\n  ")
}
