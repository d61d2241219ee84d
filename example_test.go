package swarm_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/script"
)

// scripted returns options for a session of its own in new directories, with a
// model that answers from a script. A program leaves all of that out: its model is
// what the environment gives, and its sessions are kept in ~/.swarm.
func scripted(rules string) (o swarm.Options, cleanup func()) {
	dir, err := os.MkdirTemp("", "swarm")
	if err != nil {
		log.Fatal(err)
	}
	answers, err := script.Load([]byte(rules))
	if err != nil {
		log.Fatal(err)
	}
	return swarm.Options{
		Dir: dir, Home: dir, StateDir: dir + "/.swarm",
		Models: func(name string) (model.Model, string, error) { return answers, name, nil },
		Getenv: func(string) string { return "" },
	}, func() { os.RemoveAll(dir) }
}

func ExampleOpen() {
	o, cleanup := scripted("rules: [{say: {text: ready}}]")
	defer cleanup()

	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Run(ctx, "Are you there?"); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}

	// The session is kept; its id opens it again.
	o.Session = s.ID()
	again, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	last, err := again.LastExchange()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(last.Prompt, last.Answer)
	// Output: Are you there? ready
}

func ExampleSession_Run() {
	o, cleanup := scripted(`
rules:
  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {description: count, prompt: "How many files?", subagent_type: general-purpose}}]}
  - when: {agent: lead}
    say: {text: 'The child says: {{grep "none" (lastResult "Agent") | join "" | trim}}'}
  - say: {text: "There are none."}
`)
	defer cleanup()

	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Run(ctx, "Count the files.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Outcome, result.Agents)
	fmt.Println(result.Text)
	// Output:
	// completed 2
	// The child says: There are none.
}

func ExampleSession_Events() {
	o, cleanup := scripted(`
rules:
  - when: {step: 0}
    say: {calls: [{tool: Glob, input: {pattern: '*.go'}}]}
  - say: {text: done}
`)
	defer cleanup()

	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	events, shown := s.Events(), make(chan struct{})
	go func() {
		defer close(shown)
		for e, err := events.Next(ctx); err == nil; e, err = events.Next(ctx) {
			switch f := e.Fact.(type) {
			case event.CallFinished:
				fmt.Println("called", f.Call.Name)
			case event.TurnEnded:
				fmt.Println("turn ended:", f.Outcome)
			}
		}
	}()
	if _, err := s.Run(ctx, "Which Go files are here?"); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil { // ends the events too
		log.Fatal(err)
	}
	<-shown
	// Output:
	// called Glob
	// turn ended: completed
}

func ExampleDial() {
	o, cleanup := scripted("rules: [{say: {text: 'noted'}}]")
	defer cleanup()

	// One process runs the session …
	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Begin(); err != nil {
		log.Fatal(err)
	}
	if err := s.Ready(ctx); err != nil {
		log.Fatal(err)
	}

	// … and another talks with it.
	info, err := swarm.FindSession(o.StateDir, o.Dir, s.ID())
	if err != nil {
		log.Fatal(err)
	}
	remote, err := swarm.Dial(o.StateDir, info)
	if err != nil {
		log.Fatal(err)
	}
	defer remote.Close()
	posted, err := remote.Send(ctx, "lead", "The tests pass.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(posted), "accepted for", posted[0].Name)

	if err := s.Quiet(ctx); err != nil {
		log.Fatal(err)
	}
	trace, err := remote.Message(ctx, posted[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(trace.State())
	// Output:
	// 1 accepted for team-lead
	// read
}

func ExampleLook() {
	o, cleanup := scripted("rules: [{say: {text: 'There are two.'}}]")
	defer cleanup()

	ctx := context.Background()
	s, err := swarm.Open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Run(ctx, "How many files are here?"); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil {
		log.Fatal(err)
	}

	// Nobody runs the session any more: the view reads its journal.
	view, err := swarm.Look(o.StateDir, s.Info())
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	lead, err := view.Agent(ctx, "lead")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lead.Record.Outcome, lead.Record.Result)
	// Output: completed There are two.
}
