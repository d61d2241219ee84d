// Command embed runs a swarm inside a program, with the model that the environment gives.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
)

func main() {
	if err := ask(context.Background(), os.Stdout, swarm.Options{}, "What are the three longest functions here?"); err != nil {
		log.Fatal(err)
	}
}

func ask(ctx context.Context, out io.Writer, o swarm.Options, prompt string) error {
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	events, shown := s.Events(), make(chan struct{})
	go func() {
		for e, err := events.Next(ctx); err == nil; e, err = events.Next(ctx) {
			fmt.Fprintln(out, e.Agent.Name, event.Type(e.Fact))
		}
		close(shown)
	}()
	result, err := s.Run(ctx, prompt)
	err = errors.Join(err, s.Close()) // nothing is left running, and the events end
	<-shown
	fmt.Fprintln(out, result.Text)
	return err
}
