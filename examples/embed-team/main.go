// Command embed-team runs a team inside a program: it puts tasks on the list that
// the team shares, lets two teammates work on them, and follows what happens.
//
//	go run ./examples/embed-team
//
// Its model is a script, so that it needs no network.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/roster"
)

//go:embed script.yaml
var script []byte

func main() {
	if err := work(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func work(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "embed-team-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "script.yaml")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		return err
	}
	s, err := swarm.Open(ctx, swarm.Options{Dir: dir, StateDir: filepath.Join(dir, "state"), Model: "script:" + file})
	if err != nil {
		return err
	}
	events, shown := s.Events(), make(chan struct{})
	go func() {
		defer close(shown)
		follow(ctx, out, events)
	}()
	result, err := s.Run(ctx, "Let ann and ben do the tasks.")
	if err == nil {
		err = show(ctx, out, s)
	}
	err = errors.Join(err, s.Close()) // nothing is left running, and the events end
	<-shown
	fmt.Fprintln(out, "the lead says:", result.Text)
	return err
}

// follow prints who does what, until the session ends.
func follow(ctx context.Context, out io.Writer, events *event.Subscription) {
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return
		}
		switch f := e.Fact.(type) {
		case event.Started:
			fmt.Fprintf(out, "%s begins\n", e.Agent.Name)
		case event.CallFinished:
			fmt.Fprintf(out, "%s: %s\n", e.Agent.Name, f.Text)
		}
	}
}

func show(ctx context.Context, out io.Writer, s *swarm.Session) error {
	tasks, err := s.Tasks(ctx)
	for _, t := range tasks {
		fmt.Fprintln(out, "task", roster.TaskLine(t))
	}
	return err
}
