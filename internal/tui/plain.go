package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/muesli/cancelreader"
)

// plain is the session for terminals that cannot move their cursor.
type plain struct {
	doer
	replies replies
	shown   string       // the question that was shown last
	armed   bool         // Ctrl-C was pressed at rest and nothing since
	beside  func(action) // does it in a goroutine and has its outcome heard
}

// heard is one thing that the loop of a plain session waits for.
type heard struct {
	line  *string
	event *event.Event
	told  *told
	err   error // why no more comes
}

// told is what came of an action.
type told struct {
	action action
	text   string
	err    error
}

func runPlain(ctx context.Context, s Session, sub *event.Subscription, o Options) error {
	in, err := cancelreader.NewReader(o.In)
	if err != nil {
		return fmt.Errorf("read from the terminal: %w", err)
	}
	p := &plain{doer: doer{s, o}, replies: replies{}}
	all := make(chan heard)
	var readers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		in.Cancel()
		readers.Wait()
	}()
	p.beside = func(a action) {
		readers.Go(func() {
			text, err := p.do(ctx, a)
			pass(ctx, all, heard{told: &told{a, text, err}})
		})
	}
	readers.Go(func() { readLines(ctx, in, all) })
	readers.Go(func() { readEvents(ctx, sub, all) })
	return p.run(ctx, all)
}

func (p *plain) run(ctx context.Context, all <-chan heard) error {
	p.say("%s\n", p.o.Hello)
	for {
		select {
		case h := <-all:
			if h.err != nil {
				return nil
			}
			if err := p.take(ctx, h); err != nil {
				return detached(err)
			}
		case <-p.o.Interrupts:
			if p.ctrlC() {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// detached drops what is no error but the ordinary way to leave.
func detached(err error) error {
	if errors.Is(err, ErrDetached) {
		return err
	}
	return nil
}

func (p *plain) take(ctx context.Context, h heard) error {
	switch {
	case h.event != nil:
		p.see(*h.event)
		return nil
	case h.told != nil:
		return p.tell(*h.told)
	}
	p.armed = false
	a := parse(*h.line, p.open(), p.o.Views)
	if lasts(a) {
		p.say("%s\n", asked)
		p.beside(a)
		return nil
	}
	text, err := p.do(ctx, a)
	return p.tell(told{a, text, err})
}

// tell says what came of an action; the error is that the user leaves.
func (p *plain) tell(t told) error {
	switch {
	case errors.Is(t.err, errQuit), errors.Is(t.err, ErrDetached):
		return t.err
	case t.err != nil:
		p.say("! %s\n", term.CleanLines(t.err.Error()))
	case p.isView(t.action):
		p.say("%s\n", t.text)
	case t.text != "":
		p.say("%s\n", term.CleanLines(t.text))
	}
	return nil
}

// open is the question that was shown, if it still waits.
func (p *plain) open() *Question {
	for _, q := range p.s.Questions() {
		if q.ID == p.shown {
			return &q
		}
	}
	return nil
}

func (p *plain) see(e event.Event) {
	if f, ok := e.Fact.(event.Answered); ok && e.Agent.ID == Lead {
		if text := strings.TrimSpace(f.Answer.Text()); text != "" {
			p.say("%s\n", term.CleanLines(text))
		}
	}
	if _, ok := e.Fact.(event.Delta); ok {
		return
	}
	if reply := p.replies.of(e); reply != "" {
		p.say("%s\n", term.CleanLines(reply))
	}
	if lines := strings.TrimRight(p.o.Lines(e), "\n"); lines != "" {
		p.say("%s\n", lines)
	}
	p.ask()
}

// ask shows the oldest question once.
func (p *plain) ask() {
	all := p.s.Questions()
	if len(all) == 0 || all[0].ID == p.shown {
		return
	}
	q := all[0]
	p.shown = q.ID
	if q.Whole != "" {
		p.say("%s\n", term.CleanLines(whole(q)))
	}
	p.say("? %s asks: %s\n", term.Clean(q.Agent), term.CleanLines(q.Text))
	for _, line := range answers(q) {
		p.say("  %s\n", term.Clean(line))
	}
}

// ctrlC ends the foreground turn; at rest the second one leaves.
func (p *plain) ctrlC() bool {
	if p.s.Interrupt() {
		p.armed = false
		return false
	}
	if !p.armed {
		p.say("Ctrl-C again leaves; %s\n", p.o.Leave)
	}
	was := p.armed
	p.armed = true
	return was
}

// say writes to the terminal. There is nobody to tell if that fails.
func (p *plain) say(format string, args ...any) { fmt.Fprintf(p.o.Out, format, args...) }

func readLines(ctx context.Context, in cancelreader.CancelReader, all chan<- heard) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err == nil || strings.TrimSpace(line) != "" {
			line = strings.TrimRight(line, "\r\n")
			pass(ctx, all, heard{line: &line})
		}
		if err != nil {
			pass(ctx, all, heard{err: err})
			return
		}
	}
}

func readEvents(ctx context.Context, sub *event.Subscription, all chan<- heard) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			pass(ctx, all, heard{err: err})
			return
		}
		pass(ctx, all, heard{event: &e})
	}
}

func pass(ctx context.Context, all chan<- heard, h heard) {
	select {
	case all <- h:
	case <-ctx.Done():
	}
}
