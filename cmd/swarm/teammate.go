package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/worker"
	"github.com/spf13/cobra"
)

// teammateFlags are the flags that the owner of a session passes to the process of an
// agent.
type teammateFlags struct {
	id, name, team, color, kind string
	session, stateDir           string
	launch                      uint32
	plan                        bool
}

func newTeammate(a *app) *cobra.Command {
	f := &teammateFlags{}
	c := &cobra.Command{
		Use:   "teammate",
		Short: "Run one teammate of a running session in this process",
		Long: `Teammate is what a session starts for each teammate with --teammate-mode tmux
or process. It shows what the teammate does. Ctrl-C ends the teammate's turn,
not the teammate; that is done by: swarm stop NAME`,
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 0, "swarm teammate --agent-id ID --parent-session-id ID"); err != nil {
				return err
			}
			return a.teammate(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.id, "agent-id", "", "`id` of the agent")
	fs.StringVar(&f.name, "agent-name", "", "`name` of the agent")
	fs.StringVar(&f.team, "team-name", "", "`name` of its team")
	fs.StringVar(&f.color, "agent-color", "", "its `color`")
	fs.StringVar(&f.kind, "agent-type", "", "its `type`")
	fs.StringVar(&f.session, "parent-session-id", "", "`id` of the session")
	fs.StringVar(&f.stateDir, "state-dir", "", "`directory` where sessions are kept")
	fs.Uint32Var(&f.launch, "launch", 1, "`number` of this start of its process")
	fs.BoolVar(&f.plan, "plan-mode-required", false, "it changes nothing before its plan is approved")
	return c
}

func (a *app) teammate(ctx context.Context, f *teammateFlags) error {
	if f.id == "" || f.session == "" {
		return cli.Usagef("swarm teammate needs --agent-id and --parent-session-id; sessions start it by themselves")
	}
	if f.stateDir == "" {
		dir, err := a.Sessions().StateDir()
		if err != nil {
			return err
		}
		f.stateDir = dir
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	fmt.Fprintf(a.Err, "%s of session %s\n", term.Clean(f.name), f.session)
	w, err := worker.Open(ctx, worker.Options{
		Session: f.session, StateDir: f.stateDir, Agent: f.id, Launch: f.launch, PlanRequired: f.plan, Getenv: a.Getenv,
	})
	if err != nil {
		return err
	}
	watch := view.Follow(context.WithoutCancel(ctx), w.Events(), view.NewText(a.ErrScreen(), w.Dir(), false, a.Out).Handle)
	release := a.interrupts(w)
	err = w.Run(ctx)
	release()
	err = errors.Join(err, w.Close())
	<-watch
	return err
}

// interrupts makes Ctrl-C end the agent's turn until the returned function is called.
func (a *app) interrupts(w *worker.Worker) (release func()) {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, os.Interrupt)
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-keys:
				w.Interrupt()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(keys)
		close(done)
		<-ended
	}
}
