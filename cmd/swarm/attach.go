package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/attach"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/internal/tui"
	"github.com/spf13/cobra"
)

func newAttach(a *app) *cobra.Command {
	var of cli.SessionFlags
	c := &cobra.Command{
		Use:   "attach [ID]",
		Short: "Join a running session from this terminal",
		Long: `Attach shows a session that another process runs and lets you talk with it, as
swarm alone does. Any number of terminals may be attached; each sees all, and
leaving stops nothing. When the process that runs the session dies, an attached
terminal starts another that goes on with it (swarm serve).`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := of.SetSession(args, "swarm attach [ID]"); err != nil {
				return err
			}
			if name := a.Getenv("SWARM_AGENT"); name != "" {
				return fmt.Errorf("this was started by the agent %s; only a person attaches to a session", term.Clean(name))
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return a.attach(c.Context(), info)
		},
	}
	of.Add(c, cli.RunningOnly)
	return c
}

func (a *app) attach(ctx context.Context, info swarm.Info) error {
	in, out, err := a.Files()
	if err != nil {
		return err
	}
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	r, w, err := a.join(ctl.Session, info)
	if err != nil {
		return err
	}
	l := attach.New(ctl.Session, r, w, func(ctx context.Context) (*swarm.Remote, error) {
		return attach.TakeOver(ctx, info, a.Sessions().Dial, attach.Serve)
	})
	talkErr := a.converse(ctl, l, terminalOptions{
		info: w.Info, last: w.Last, again: true, in: in, out: out, leave: "the session goes on",
	})
	l.Close()
	return a.reportDetached(ctl, l, info, talkErr)
}

// reportDetached prints what happens to a session when a terminal leaves it.
func (a *app) reportDetached(ctl *cli.Signals, l *attach.Link, info swarm.Info, talkErr error) error {
	code := ctl.ExitCode()
	switch err := l.Err(); {
	case talkErr != nil && !errors.Is(talkErr, tui.ErrDetached):
		return talkErr
	case code == 0 && errors.Is(err, swarm.ErrEnded) && !errors.Is(err, swarm.ErrOwnerGone):
		a.Notef("session %s has ended; go on with: swarm resume %s", info.ID, info.ID)
		return nil
	case code == 0 && err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w; go on with: swarm resume %s", err, info.ID)
	}
	a.Notef("session %s goes on; come back with: swarm attach %s; end it with: swarm quit %s", info.ID, info.ID, info.ID)
	if code != 0 {
		return &cli.ExitError{Code: code}
	}
	return nil
}

// join connects to a running session and returns its first reply.
func (a *app) join(ctx context.Context, info swarm.Info) (*swarm.Remote, swarm.Welcome, error) {
	r, err := a.Sessions().Dial(info)
	if cli.NotRunning(err) {
		return nil, swarm.Welcome{}, fmt.Errorf("session %s is not running; go on with it by: swarm resume %s, or without a terminal: swarm serve --resume %s", info.ID, info.ID, info.ID)
	}
	if err != nil {
		return nil, swarm.Welcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, attach.RequestTimeout)
	defer cancel()
	w, err := r.Hello(ctx)
	if err != nil {
		r.Close()
	}
	return r, w, err
}

func newQuit(a *app) *cobra.Command {
	var of cli.SessionFlags
	c := &cobra.Command{
		Use:   "quit [ID]",
		Short: "End a running session; swarm resume continues it",
		Long: `Quit ends the process that runs a session, as SIGTERM does: turns that run are
left open, and go on with swarm serve --resume ID or swarm resume ID. It returns
when the session has ended.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := of.SetSession(args, "swarm quit [ID]"); err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return quit(c.Context(), &a.Console, info)
		},
	}
	of.Add(c, cli.RunningOnly)
	return c
}

func quit(ctx context.Context, con *cli.Console, info swarm.Info) error {
	r, err := con.Sessions().Dial(info)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(ctx, attach.RequestTimeout)
	defer cancel()
	w, err := r.Hello(ctx)
	if err != nil {
		return err
	}
	if err := r.Quit(ctx); err != nil {
		return err
	}
	if err := attach.WaitForExit(ctx, info, w.PID); err != nil {
		return err
	}
	if _, err := os.Stat(info.Path); err != nil {
		return con.Print(fmt.Sprintf("session %s has ended; nothing was said in it, and nothing is kept\n", info.ID))
	}
	return con.Print(fmt.Sprintf("session %s has ended; go on with: swarm resume %s\n", info.ID, info.ID))
}
