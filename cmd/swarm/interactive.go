package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/tui"
)

// onTerminal reports whether a person sits before both standard input and
// standard output.
func (a *app) onTerminal() bool {
	_, in := columns(a.in)
	_, out := columns(a.out)
	return in && out
}

// talk runs a session that a person talks with until they leave.
func (a *app) talk(ctx context.Context, opts swarm.Options) error {
	in, out, err := a.files()
	if err != nil {
		return err
	}
	opts.Attended = true
	ctl := takeControl(ctx, a.exit)
	defer ctl.release()
	s, err := swarm.Open(ctl.session, opts)
	if err != nil {
		return a.notOpened(opts, err)
	}
	for _, p := range s.Problems() {
		a.say("warning: %s", p)
	}
	talkErr := a.attend(ctl, s, in, out, opts.Session != "")
	closeErr := s.Close()
	info := s.Info()
	if info.Prompt == "" && opts.Session == "" {
		return errors.Join(talkErr, closeErr, os.RemoveAll(info.Path)) // there is nothing to go on with
	}
	if err := errors.Join(talkErr, closeErr); err != nil {
		return fmt.Errorf("%w; go on with: swarm resume %s", err, info.ID)
	}
	a.say("go on with: swarm resume %s", info.ID)
	if code := ctl.code(); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

func (a *app) files() (in, out *os.File, err error) {
	in, isIn := a.in.(*os.File)
	out, isOut := a.out.(*os.File)
	if !isIn || !isOut {
		return nil, nil, usagef("there is no terminal to talk at; give a prompt: swarm run PROMPT")
	}
	return in, out, nil
}

// attend shows the session to the person and passes on what they say.
func (a *app) attend(ctl *control, s *swarm.Session, in, out *os.File, again bool) error {
	interrupts, giveBack := ctl.divert()
	defer giveBack()
	scr := newScreen(out, a.env)
	term := a.env("TERM")
	return tui.Run(ctl.session, attended{s}, tui.Options{
		Session: s.ID(), In: in, Out: out, Interrupts: interrupts,
		Plain: term == "dumb" || term == "",
		Paint: scr.paint, Lines: a.lines(s, out), Views: a.views(s),
		Hello: hello(s, again), Mode: s.Info().Mode,
		History: filepath.Join(filepath.Dir(s.Info().Path), "history"),
	})
}

// hello is what a person reads first: where they are and, of a session that is
// gone on with, what was said last.
func hello(s *swarm.Session, again bool) string {
	info := s.Info()
	if !again {
		return fmt.Sprintf("swarm %s · session %s\n%s\nWrite to the lead; /help shows what else you can do.", version(), info.ID, info.Dir)
	}
	text := fmt.Sprintf("swarm %s · session %s goes on\n%s", version(), info.ID, info.Dir)
	last, err := s.LastExchange()
	if err != nil {
		return text + "\n! what was said last cannot be shown: " + err.Error()
	}
	if last.Prompt != "" {
		text += "\n\n› " + strings.ReplaceAll(last.Prompt, "\n", "\n  ")
	}
	if last.Answer != "" {
		text += "\n" + last.Answer
	}
	return text
}

// lines shows events as run does on standard error.
func (a *app) lines(s *swarm.Session, out *os.File) func(event.Event) string {
	b := &paper{like: out}
	p := newProgress(newScreen(b, a.env), s.Info().Dir, false)
	return func(e event.Event) string {
		switch e.Fact.(type) {
		case event.Asked:
			return "" // it is asked in place
		case event.MailSent:
			if e.Agent.ID == "user" {
				return "" // what was typed is on the screen already
			}
		}
		p.See(e)
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
func (a *app) views(s *swarm.Session) []tui.View {
	return []tui.View{
		{Name: "agents", Help: "the types of agents that can be started", Show: func() string { return a.types(s) }},
		{Name: "ps", Help: "who works on what", Show: func() string { return a.tree(agentRows(s.Agents()), time.Now(), 0) }},
	}
}

func (a *app) types(s *swarm.Session) string {
	var b strings.Builder
	scr := newScreen(a.out, a.env)
	for _, d := range s.Definitions().Active {
		name := clean(d.Name)
		pad := strings.Repeat(" ", max(0, 20-widthOf(name))+2)
		fmt.Fprintf(&b, "%s%s%s\n", scr.paint(name, d.Color), pad, cut(clean(firstLine(d.Description)), max(10, scr.width()-widthOf(name)-len(pad))))
	}
	return b.String()
}
