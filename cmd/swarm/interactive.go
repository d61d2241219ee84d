package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/attach"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/hooks"
	"github.com/actorswarm/swarm/internal/cli/permissions"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/tui"
)

// runInteractive runs a session with a person at the terminal until they leave.
func (a *app) runInteractive(ctx context.Context, opts swarm.Options) error {
	in, out, err := a.Files()
	if err != nil {
		return err
	}
	opts.Attended = true
	if a.OnTerminal() {
		if err := a.AskBypass(a.modeOf(opts)); err != nil {
			return err
		}
	}
	if opts.Session == "" && a.OnTerminal() {
		if err := hooks.AskTrust(&a.Console, opts.Dir); err != nil {
			return err
		}
	}
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, opts)
	if err != nil {
		return a.explainRunning(opts, err)
	}
	warnOfProblems(&a.Console, s)
	last, err := s.LastExchange()
	if err != nil {
		a.Notef("warning: what was said last cannot be shown: %v", err)
	}
	ctl.EndWhen(s.Quitting())
	talkErr := a.converse(ctl, s, terminalOptions{
		info: s.Info(), last: last, again: opts.Session != "", in: in, out: out, leave: "agents go on at the next swarm resume",
	})
	return a.closeAttended(ctx, ctl, s, opts.Session == "", talkErr)
}

// closeAttended closes a session that its user has left, and prints how to continue it.
func (a *app) closeAttended(ctx context.Context, ctl *cli.Signals, s *swarm.Session, fresh bool, talkErr error) error {
	detach := errors.Is(talkErr, tui.ErrDetached)
	if detach {
		talkErr = nil
	}
	closeErr := s.Close()
	info := s.Info()
	if fresh && !detach && isUnused(s) {
		return errors.Join(talkErr, closeErr, os.RemoveAll(info.Path)) // there is nothing to continue
	}
	if err := errors.Join(talkErr, closeErr); err != nil {
		return fmt.Errorf("%w; go on with: swarm resume %s", err, info.ID)
	}
	if detach {
		return a.detachSession(ctx, info)
	}
	a.Notef("go on with: swarm resume %s", info.ID)
	if code := ctl.ExitCode(); code != 0 {
		return &cli.ExitError{Code: code}
	}
	return nil
}

// isUnused reports whether a session has no message of the user and no agent but its
// lead.
func isUnused(s *swarm.Session) bool {
	all := s.Agents()
	if slices.ContainsFunc(all, func(a actors.Status) bool { return a.Record.Spec.ID != agent.LeadID && a.Record.Spec.Role != "user" }) {
		return false
	}
	lead, begun := leadOf(all)
	return s.Info().Prompt == "" && (!begun || lead.Record.Turns == 0 && !lead.Record.TurnOpen && lead.Unread == 0)
}

// detachSession starts a process that continues a session which was closed.
func (a *app) detachSession(ctx context.Context, info swarm.Info) error {
	if err := attach.ServeAsIs(ctx, info); err != nil {
		return fmt.Errorf("session %s could not go on by itself: %w; go on with: swarm resume %s", info.ID, err, info.ID)
	}
	a.Notef("session %s goes on without a terminal; come back with: swarm attach %s; end it with: swarm quit %s", info.ID, info.ID, info.ID)
	return nil
}

// terminalOptions describe how a person attends a session.
type terminalOptions struct {
	info    swarm.Info
	last    swarm.Exchange
	again   bool // the session has been there before
	in, out *os.File
	leave   string // what becomes of the agents when they leave
}

// converse shows the session on the terminal until the user leaves.
func (a *app) converse(ctl *cli.Signals, s interactiveSession, v terminalOptions) error {
	interrupts, giveBack := ctl.Divert()
	defer giveBack()
	scr := cli.NewScreen(v.out, a.Getenv)
	kind := a.Getenv("TERM")
	mine := newTypedTexts()
	return tui.Run(ctl.Session, tuiSession{s, mine}, tui.Options{
		Getenv:  a.Getenv,
		Session: v.info.ID, In: v.in, Out: v.out, Interrupts: interrupts,
		Plain: kind == "dumb" || kind == "" || !a.OnTerminal(),
		Paint: scr.Paint, Lines: a.lines(v.info.Dir, v.out, mine), Views: a.views(ctl.Session, s, v.info),
		Hello: greeting(v), Mode: v.info.Mode, Leave: v.leave,
		History: filepath.Join(filepath.Dir(v.info.Path), "history"),
	})
}

// greeting returns the first text on the screen: the session, its directory and, if it
// is continued, its last exchange.
func greeting(v terminalOptions) string {
	if !v.again {
		return fmt.Sprintf("swarm %s · session %s\n%s\nWrite to the lead; /help shows what else you can do.", cli.Version(), v.info.ID, v.info.Dir)
	}
	text := fmt.Sprintf("swarm %s · session %s goes on\n%s", cli.Version(), v.info.ID, v.info.Dir)
	if v.last.Prompt != "" {
		text += "\n\n› " + strings.ReplaceAll(v.last.Prompt, "\n", "\n  ")
	}
	if v.last.Answer != "" {
		text += "\n" + v.last.Answer
	}
	return text
}

// lines formats events as run does on standard error, and texts from other terminals.
func (a *app) lines(dir string, out *os.File, mine *typedTexts) func(event.Event) string {
	b := &lineWriter{like: out}
	p := view.NewProgress(cli.NewScreen(b, a.Getenv), dir, false)
	return func(e event.Event) string {
		switch f := e.Fact.(type) {
		case event.Asked:
			return "" // it is asked in place
		case event.MailSent:
			if e.Agent.ID == "user" && mine.has(f.Envelope.Body) {
				return ""
			}
		case event.Prompted:
			if mine.has(f.Text) {
				return ""
			}
			return "› " + strings.ReplaceAll(term.CleanLines(f.Text), "\n", "\n  ")
		}
		p.Handle(e)
		defer b.Reset()
		return b.String()
	}
}

// lineWriter collects lines with the width and colours of a terminal.
type lineWriter struct {
	bytes.Buffer
	like *os.File
}

func (p *lineWriter) Fd() uintptr { return p.like.Fd() }

// views returns the commands that only show something.
func (a *app) views(ctx context.Context, s interactiveSession, info swarm.Info) []tui.View {
	return []tui.View{
		{Name: "agents", Help: "the types of agents that can be started", Show: func(string) string { return view.AgentTypes(a.Screen(), s.Types()) }},
		{
			Name: "permissions", Arg: " [check CALL]", Help: "the permission rules in force, or what they make of a call",
			Show: func(arg string) string { return permissions.View(&a.Console, info, arg) },
		},
		{Name: "ps", Help: "what each agent is doing", Show: func(string) string { return view.Tree(a.Screen(), view.AgentRows(s.Agents()), time.Now(), 0) }},
		{Name: "team", Help: "who is in which team, and the tasks", Show: func(string) string { return a.teamView(ctx, s) }},
	}
}

func (a *app) teamView(ctx context.Context, s interactiveSession) string {
	var b strings.Builder
	for _, t := range s.Teams() {
		status, err := s.Team(ctx, t.ID)
		if err != nil {
			return b.String() + "! " + term.Clean(err.Error()) // it may have gone meanwhile
		}
		b.WriteString(view.Team(a.Screen(), view.NewTeamRow(status), time.Now()))
	}
	return cmp.Or(b.String(), "no agent has been started yet")
}
