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

// plainTerminal shows a session on a terminal that cannot move its cursor.
type plainTerminal struct {
	runner
	replies         replies
	shownQuestion   string       // id of the question that was shown last
	armed           bool         // the last input was Ctrl-C, and no turn ran
	runConcurrently func(action) // runs an action in a goroutine and queues its outcome
}

// inputItem is one thing that the loop of a plain terminal waits for.
type inputItem struct {
	line    *string
	event   *event.Event
	outcome *outcome
	err     error // why no more comes
}

// outcome is the result of an action.
type outcome struct {
	action action
	text   string
	err    error
}

func runPlain(ctx context.Context, s Session, sub *event.Subscription, o Options) error {
	in, err := cancelreader.NewReader(o.In)
	if err != nil {
		return fmt.Errorf("read from the terminal: %w", err)
	}
	p := &plainTerminal{runner: runner{s, o}, replies: replies{}}
	all := make(chan inputItem)
	var readers sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		in.Cancel()
		readers.Wait()
	}()
	p.runConcurrently = func(a action) {
		readers.Go(func() {
			text, err := p.do(ctx, a)
			sendItem(ctx, all, inputItem{outcome: &outcome{a, text, err}})
		})
	}
	readers.Go(func() { readLines(ctx, in, all) })
	readers.Go(func() { readEvents(ctx, sub, all) })
	return p.run(ctx, all)
}

func (p *plainTerminal) run(ctx context.Context, all <-chan inputItem) error {
	p.printf("%s\n", p.options.Hello)
	for {
		select {
		case h := <-all:
			if h.err != nil {
				return nil
			}
			if err := p.handle(ctx, h); err != nil {
				return onlyDetached(err)
			}
		case <-p.options.Interrupts:
			if p.ctrlC() {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// onlyDetached returns err if it is ErrDetached; the other way to leave is not an
// error.
func onlyDetached(err error) error {
	if errors.Is(err, ErrDetached) {
		return err
	}
	return nil
}

func (p *plainTerminal) handle(ctx context.Context, h inputItem) error {
	switch {
	case h.event != nil:
		p.handleEvent(*h.event)
		return nil
	case h.outcome != nil:
		return p.report(*h.outcome)
	}
	p.armed = false
	a := parse(*h.line, p.openQuestion(), p.options.Views)
	if isLong(a) {
		p.printf("%s\n", startedNotice)
		p.runConcurrently(a)
		return nil
	}
	text, err := p.do(ctx, a)
	return p.report(outcome{a, text, err})
}

// report prints the result of an action. It returns an error if the user leaves.
func (p *plainTerminal) report(t outcome) error {
	switch {
	case errors.Is(t.err, errQuit), errors.Is(t.err, ErrDetached):
		return t.err
	case t.err != nil:
		p.printf("! %s\n", term.CleanLines(t.err.Error()))
	case p.isView(t.action):
		p.printf("%s\n", t.text)
	case t.text != "":
		p.printf("%s\n", term.CleanLines(t.text))
	}
	return nil
}

// openQuestion returns the question that was shown, if it is still open.
func (p *plainTerminal) openQuestion() *Question {
	for _, q := range p.session.Questions() {
		if q.ID == p.shownQuestion {
			return &q
		}
	}
	return nil
}

func (p *plainTerminal) handleEvent(e event.Event) {
	if f, ok := e.Fact.(event.Answered); ok && e.Agent.ID == Lead {
		if text := strings.TrimSpace(f.Answer.Text()); text != "" {
			p.printf("%s\n", term.CleanLines(text))
		}
	}
	if _, ok := e.Fact.(event.Delta); ok {
		return
	}
	if reply := p.replies.of(e); reply != "" {
		p.printf("%s\n", term.CleanLines(reply))
	}
	if lines := strings.TrimRight(p.options.Lines(e), "\n"); lines != "" {
		p.printf("%s\n", lines)
	}
	p.showQuestion()
}

// showQuestion shows the oldest question once.
func (p *plainTerminal) showQuestion() {
	all := p.session.Questions()
	if len(all) == 0 || all[0].ID == p.shownQuestion {
		return
	}
	q := all[0]
	p.shownQuestion = q.ID
	if q.FullText != "" {
		p.printf("%s\n", term.CleanLines(fullText(q)))
	}
	p.printf("? %s asks: %s\n", term.Clean(q.Agent), term.CleanLines(q.Text))
	for _, line := range answerHelp(q) {
		p.printf("  %s\n", term.Clean(line))
	}
}

// ctrlC ends the foreground turn. It reports whether the user leaves: with the second
// Ctrl-C while no turn runs.
func (p *plainTerminal) ctrlC() bool {
	if p.session.Interrupt() {
		p.armed = false
		return false
	}
	if !p.armed {
		p.printf("Ctrl-C again leaves; %s\n", p.options.Leave)
	}
	was := p.armed
	p.armed = true
	return was
}

// printf writes to the terminal. There is nowhere to report an error.
func (p *plainTerminal) printf(format string, args ...any) {
	fmt.Fprintf(p.options.Out, format, args...)
}

func readLines(ctx context.Context, in cancelreader.CancelReader, all chan<- inputItem) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if err == nil || strings.TrimSpace(line) != "" {
			line = strings.TrimRight(line, "\r\n")
			sendItem(ctx, all, inputItem{line: &line})
		}
		if err != nil {
			sendItem(ctx, all, inputItem{err: err})
			return
		}
	}
}

func readEvents(ctx context.Context, sub *event.Subscription, all chan<- inputItem) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			sendItem(ctx, all, inputItem{err: err})
			return
		}
		sendItem(ctx, all, inputItem{event: &e})
	}
}

func sendItem(ctx context.Context, all chan<- inputItem, h inputItem) {
	select {
	case all <- h:
	case <-ctx.Done():
	}
}
