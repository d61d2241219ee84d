package tui

import (
	"context"
	"fmt"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/actorswarm/swarm/event"
)

// Run shows a session until the user leaves, the session's events end or ctx is
// cancelled. It leaves the session open and restores the terminal. It returns
// ErrDetached if the user detaches.
func Run(ctx context.Context, s Session, o Options) error {
	h, err := openHistory(o.History)
	if err != nil {
		o.Hello += "\n! " + err.Error()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sub := s.Events()
	defer sub.Close()
	if err := s.Begin(); err != nil {
		return err
	}
	if o.Plain {
		return runPlain(ctx, s, sub, o)
	}
	out := newCanvas(o.Out, o.Getenv)
	m := newScreen(ctx, s, o, h)
	m.canvas = out
	p := tea.NewProgram(m,
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(out), tea.WithoutSignalHandler())
	var watch sync.WaitGroup
	watch.Go(func() { sendEvents(ctx, sub, p) })
	watch.Go(func() { sendSignals(ctx, o, out, p) })
	_, err = p.Run()
	asked := ctx.Err() != nil
	cancel()
	sub.Close()
	watch.Wait()
	if err != nil && !asked {
		return fmt.Errorf("the terminal failed: %w", err)
	}
	if m.detach {
		return ErrDetached
	}
	return nil
}

// sendEvents sends events to the program, and of the deltas only the lead's.
func sendEvents(ctx context.Context, sub *event.Subscription, p *tea.Program) {
	for {
		e, err := sub.Next(ctx)
		if err != nil {
			p.Send(endedMsg{})
			return
		}
		if _, delta := e.Fact.(event.Delta); delta && e.Agent.ID != Lead {
			continue
		}
		p.Send(eventMsg{e})
	}
}

// sendSignals sends the size of the terminal when the canvas needs a whole frame, and
// signals that count as Ctrl-C.
func sendSignals(ctx context.Context, o Options, c *canvas, p *tea.Program) {
	for {
		select {
		case <-c.stale:
			p.Send(c.windowSize())
		case <-o.Interrupts:
			p.Send(interruptMsg{})
		case <-ctx.Done():
			return
		}
	}
}
