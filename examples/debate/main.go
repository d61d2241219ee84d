// Command debate lets two reviewers argue before a judge, each an agent of its
// own, and prints the verdict.
//
//	go run ./examples/debate "shall we add a cache?"
//
// Without -model it follows script.yaml and needs no network.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
)

//go:embed script.yaml
var script []byte

// rules describe the debate to a model; the script follows them without.
const rules = "Lead a debate about the question below. Start three teammates with the Agent tool: judge, then pro and contra. " +
	"pro and contra each write their best argument to judge, in one message. judge weighs both and writes you one message that begins with VERDICT. " +
	"Your last answer is that verdict. The question: "

func main() {
	model := flag.String("model", "", "a model, such as sonnet; a script when left out")
	flag.Parse()
	question := flag.Arg(0)
	if question == "" {
		log.Fatal(`what is the question? go run ./examples/debate "shall we add a cache?"`)
	}
	if err := debate(context.Background(), os.Stdout, *model, question); err != nil {
		log.Fatal(err)
	}
}

func debate(ctx context.Context, out io.Writer, model, question string) (err error) {
	dir, err := os.MkdirTemp("", "debate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := swarm.Options{Dir: dir, Model: model}
	prompt := rules + question
	if model == "" {
		prompt, o.StateDir = question, filepath.Join(dir, "state")
		o.Model = "script:" + filepath.Join(dir, "script.yaml")
		if err := os.WriteFile(filepath.Join(dir, "script.yaml"), script, 0o600); err != nil {
			return err
		}
	}
	return run(ctx, out, o, prompt)
}

// run prints the messages of the agents to each other, and the verdict.
func run(ctx context.Context, out io.Writer, o swarm.Options, prompt string) error {
	s, err := swarm.Open(ctx, o)
	if err != nil {
		return err
	}
	events, shown := s.Events(), make(chan struct{})
	go func() {
		defer close(shown)
		for e, err := events.Next(ctx); err == nil; e, err = events.Next(ctx) {
			if m, ok := e.Fact.(event.MailArrived); ok {
				fmt.Fprintf(out, "%s → %s: %s\n", m.Envelope.FromName, m.Envelope.ToName, m.Envelope.Body)
			}
		}
	}()
	result, err := s.Run(ctx, prompt)
	err = errors.Join(err, s.Close())
	<-shown
	fmt.Fprintln(out, "\nThe verdict:", result.Text)
	return err
}
