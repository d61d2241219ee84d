// Command embedder is a program of another module that runs a swarm inside itself. It
// follows events, lists agents, writes mail, and reads mail and tasks.
//
//	cd examples/embedder && go run . script.yaml
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: embedder SCRIPT")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, script string) (err error) {
	dir, err := os.MkdirTemp("", "embedder")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	s, err := swarm.Open(ctx, swarm.Options{
		Dir: dir, StateDir: dir + "/.swarm", Home: dir, Model: "script:" + script,
		Getenv: func(string) string { return "" }, MaxTurns: 20,
		Budget: swarm.Limits{Tokens: 1_000_000},
	})
	if err != nil {
		return err
	}
	turns := count(ctx, s.Events())
	result, err := s.Run(ctx, "Let a teammate count, and put the count on the list.")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	if result.Outcome != agent.Completed {
		return errors.Join(fmt.Errorf("the lead did not complete: %s", result.Reason), s.Close())
	}
	err = errors.Join(show(ctx, out, s), s.Close())
	if n := <-turns; n < 3 {
		err = errors.Join(err, fmt.Errorf("%d turns ended, not one each of the lead and twice the teammate's", n))
	}
	return err
}

// count returns how many turns ended, once the session is closed.
func count(ctx context.Context, events *event.Subscription) <-chan int {
	total := make(chan int, 1)
	go func() {
		n := 0
		for e, err := events.Next(ctx); err == nil; e, err = events.Next(ctx) {
			if _, ended := e.Fact.(event.TurnEnded); ended {
				n++
			}
		}
		total <- n
	}()
	return total
}

// show prints who there is, what they were written, and what is to be done.
func show(ctx context.Context, out io.Writer, s *swarm.Session) error {
	for _, a := range s.Agents() {
		var record agent.Record = a.Record
		fmt.Fprintf(out, "agent %s, %s\n", agent.DisplayName(record.Spec), record.Spec.Role)
	}
	posted, err := s.Send("counter", "Thank you.")
	if err != nil {
		return err
	}
	var id mailbox.ID = posted[0].ID
	if err := s.Quiet(ctx); err != nil {
		return err
	}
	trace, err := s.Message(id)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "mail to %s is %s\n", trace.Envelope.ToName, trace.State())

	var tasks []board.Task
	if tasks, err = s.Tasks(ctx); err != nil {
		return err
	}
	slices.SortFunc(tasks, func(a, b board.Task) int { return a.Created.Compare(b.Created) })
	for _, t := range tasks {
		fmt.Fprintf(out, "task %s is %s\n", t.Subject, t.Status)
	}
	var info session.Info = s.Info()
	fmt.Fprintln(out, "first prompt:", info.Prompt)
	return nil
}
