package view

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
)

// View shows a run. Handle is called for each event in order, then Finish once.
type View interface {
	Handle(event.Event)
	Finish(RunResult) error
}

// RunResult is the end of a run. Err is an error of the run itself, not of the lead.
type RunResult struct {
	swarm.Result
	Err error
}

// Follow passes events on until the session has closed, and then closes the returned
// channel.
func Follow(ctx context.Context, sub *event.Subscription, see func(event.Event)) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer sub.Close()
		for {
			e, err := sub.Next(ctx)
			if err != nil {
				return
			}
			see(e)
		}
	}()
	return done
}

// AgentTypes lists the types of agents that can be started.
func AgentTypes(scr cli.Screen, all []swarm.AgentType) string {
	var b strings.Builder
	for _, d := range all {
		name := term.Clean(d.Name)
		pad := strings.Repeat(" ", max(0, 20-term.Width(name))+2)
		fmt.Fprintf(&b, "%s%s%s\n", scr.Paint(name, d.Color), pad, term.Cut(term.Clean(FirstLine(d.Description)), max(10, scr.Width()-term.Width(name)-len(pad))))
	}
	return b.String()
}
