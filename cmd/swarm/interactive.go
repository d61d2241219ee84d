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
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/tui"
)

// talk runs a session that a person talks with until they leave.
func (a *app) talk(ctx context.Context, opts swarm.Options) error {
	in, out, err := a.Files()
	if err != nil {
		return err
	}
	opts.Attended = true
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, opts)
	if err != nil {
		return a.notOpened(opts, err)
	}
	warnOfProblems(&a.Console, s)
	last, err := s.LastExchange()
	if err != nil {
		a.Notef("warning: what was said last cannot be shown: %v", err)
	}
	ctl.EndWhen(s.Quitting())
	talkErr := a.converse(ctl, s, visit{
		info: s.Info(), last: last, again: opts.Session != "", in: in, out: out, leave: "agents go on at the next swarm resume",
	})
	return a.left(ctx, ctl, s, opts.Session == "", talkErr)
}

// left closes a session that its person has left, and says how to go on.
func (a *app) left(ctx context.Context, ctl *cli.Signals, s *swarm.Session, fresh bool, talkErr error) error {
	detach := errors.Is(talkErr, tui.ErrDetached)
	if detach {
		talkErr = nil
	}
	closeErr := s.Close()
	info := s.Info()
	if fresh && !detach && unused(s) {
		return errors.Join(talkErr, closeErr, os.RemoveAll(info.Path)) // there is nothing to go on with
	}
	if err := errors.Join(talkErr, closeErr); err != nil {
		return fmt.Errorf("%w; go on with: swarm resume %s", err, info.ID)
	}
	if detach {
		return a.handOver(ctx, info)
	}
	a.Notef("go on with: swarm resume %s", info.ID)
	if code := ctl.ExitCode(); code != 0 {
		return &cli.ExitError{Code: code}
	}
	return nil
}

// unused reports whether nobody has said anything in a session, and nobody but
// its lead has come into it.
func unused(s *swarm.Session) bool {
	all := s.Agents()
	if slices.ContainsFunc(all, func(a actors.Status) bool { return a.Record.Spec.ID != agent.LeadID && a.Record.Spec.Role != "user" }) {
		return false
	}
	lead, begun := leadOf(all)
	return s.Info().Prompt == "" && (!begun || lead.Record.Turns == 0 && !lead.Record.TurnOpen && lead.Unread == 0)
}

// handOver lets a process of its own go on with a session that was closed.
func (a *app) handOver(ctx context.Context, info swarm.Info) error {
	if err := attach.Serve(ctx, info); err != nil {
		return fmt.Errorf("session %s could not go on by itself: %w; go on with: swarm resume %s", info.ID, err, info.ID)
	}
	a.Notef("session %s goes on without a terminal; come back with: swarm attach %s; end it with: swarm quit %s", info.ID, info.ID, info.ID)
	return nil
}

// visit is how a person sits before a session.
type visit struct {
	info    swarm.Info
	last    swarm.Exchange
	again   bool // the session has been there before
	in, out *os.File
	leave   string // what becomes of the agents when they leave
}

// converse shows the session to the person and passes on what they say.
func (a *app) converse(ctl *cli.Signals, s talker, v visit) error {
	interrupts, giveBack := ctl.Divert()
	defer giveBack()
	scr := cli.NewScreen(v.out, a.Getenv)
	kind := a.Getenv("TERM")
	mine := newOwn()
	return tui.Run(ctl.Session, attended{s, mine}, tui.Options{
		Getenv:  a.Getenv,
		Session: v.info.ID, In: v.in, Out: v.out, Interrupts: interrupts,
		Plain: kind == "dumb" || kind == "" || !a.OnTerminal(),
		Paint: scr.Paint, Lines: a.lines(v.info.Dir, v.out, mine), Views: a.views(ctl.Session, s),
		Hello: hello(v), Mode: v.info.Mode, Leave: v.leave,
		History: filepath.Join(filepath.Dir(v.info.Path), "history"),
	})
}

// hello is what a person reads first: where they are and, of a session that is
// gone on with, what was said last.
func hello(v visit) string {
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

// lines shows events as run does on standard error, and what was said at other
// terminals.
func (a *app) lines(dir string, out *os.File, mine *own) func(event.Event) string {
	b := &paper{like: out}
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

// paper takes lines that are to have the width and colours of a terminal.
type paper struct {
	bytes.Buffer
	like *os.File
}

func (p *paper) Fd() uintptr { return p.like.Fd() }

// views are the commands that only show something.
func (a *app) views(ctx context.Context, s talker) []tui.View {
	return []tui.View{
		{Name: "agents", Help: "the types of agents that can be started", Show: func() string { return view.AgentTypes(a.Screen(), s.Types()) }},
		{Name: "ps", Help: "who works on what", Show: func() string { return view.Tree(a.Screen(), view.AgentRows(s.Agents()), time.Now(), 0) }},
		{Name: "team", Help: "who is in which team, and the tasks", Show: func() string { return a.teamView(ctx, s) }},
	}
}

func (a *app) teamView(ctx context.Context, s talker) string {
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
