package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/attach"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/spf13/cobra"
)

// serveFlags are the flags of serve besides those of run.
type serveFlags struct {
	runFlags
	detach, apart bool
}

// The flags with which a process leaves its terminal, and has left it.
const (
	detachFlag = "detach"
	apartFlag  = "apart"
)

// logFile is the log of a session without a terminal.
const logFile = "serve.log"

func newServe(a *app) *cobra.Command {
	flags := &serveFlags{}
	c := &cobra.Command{
		Use:   "serve [PROMPT…]",
		Short: "Run a session without a terminal",
		Long: `Serve keeps a session and its agents running whether anybody watches or not,
until swarm quit, SIGTERM or Ctrl-C ends it. Join it with swarm attach, from any
terminal and as often as you like. Questions of agents wait for your answer.

With --detach it leaves the terminal, writes to serve.log in the session's
directory, and returns with the session's id once it answers.`,
		Example: `  swarm serve --detach "keep the tests green"
  swarm attach
  swarm serve --detach --resume 4f1c0de2`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.check(c); err != nil {
				return err
			}
			if flags.detach {
				return a.detach(c.Context())
			}
			prompt, err := a.Prompt(args)
			if err != nil {
				return err
			}
			opts, err := flags.options(a)
			if err != nil {
				return err
			}
			return a.serve(c.Context(), opts, prompt, flags.apart)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&flags.detach, detachFlag, false, "leave the terminal and print the session's id")
	fs.BoolVar(&flags.apart, apartFlag, false, "")
	fs.Lookup(apartFlag).Hidden = true
	fs.BoolVarP(&flags.continued, "continue", "c", false, "go on with the newest session of the directory")
	fs.StringVarP(&flags.resume, "resume", "r", "", "go on with the session of this `id`")
	fs.StringVar(&flags.sessionID, "session-id", "", "the `id` of the new session")
	flags.bus(fs)
	flags.addCommon(c)
	fs.Lookup("output-format").Hidden, fs.Lookup("forward-subagent-text").Hidden = true, true
	return c
}

// serve runs a session until it is ended.
func (a *app) serve(ctx context.Context, opts swarm.Options, prompt string, apart bool) error {
	opts.Attended = true
	opts.Logger = slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctl := cli.CatchSignals(ctx, a.exit)
	defer ctl.Release()
	s, err := swarm.Open(ctl.Session, opts)
	if err != nil {
		return a.explainRunning(opts, err)
	}
	ctl.EndWhen(s.Quitting())
	serveErr := a.serveUntilEnd(ctl, s, prompt, apart)
	closeErr := s.Close()
	info := s.Info()
	if opts.Session == "" && isUnused(s) {
		return errors.Join(serveErr, closeErr, os.RemoveAll(info.Path)) // there is nothing to continue
	}
	if err := errors.Join(serveErr, closeErr); err != nil {
		return fmt.Errorf("%w; go on with: swarm serve --resume %s", err, info.ID)
	}
	a.Notef("%s; go on with: swarm serve --resume %s", ctl.Reason(), info.ID)
	if errors.Is(ctl.Cause(), cli.ErrQuit) {
		return nil
	}
	return &cli.ExitError{Code: ctl.ExitCode()}
}

// serveUntilEnd starts a session, reports that it can be reached, and waits for its
// end.
func (a *app) serveUntilEnd(ctl *cli.Signals, s *swarm.Session, prompt string, apart bool) error {
	warnOfProblems(&a.Console, s)
	watched := closed()
	if !apart {
		watched = view.Follow(context.WithoutCancel(ctl.Session), s.Events(), view.NewProgress(a.ErrScreen(), s.Info().Dir, false).Handle)
	}
	if err := a.wake(ctl, s, prompt); err != nil {
		return err
	}
	if err := a.Print(s.ID() + "\n"); err != nil && !apart {
		return err
	}
	if apart {
		if err := cli.LogTo(filepath.Join(s.Info().Path, logFile)); err != nil {
			return err
		}
	}
	a.Notef("session %s runs; join it with: swarm attach %s; end it with: swarm quit %s", s.ID(), s.ID(), s.ID())
	err := s.Wait(ctl.Run)
	if ctl.Run.Err() != nil {
		err = nil // it was ended on request
	}
	if closeErr := s.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	<-watched
	return err
}

func (a *app) wake(ctl *cli.Signals, s *swarm.Session, prompt string) error {
	if err := s.Begin(); err != nil {
		return err
	}
	if prompt != "" {
		if err := s.Say(prompt); err != nil {
			return err
		}
	}
	return s.Ready(ctl.Run)
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// detach starts this command again, without the terminal.
func (a *app) detach(ctx context.Context) error {
	more, err := a.ReadInput()
	if err != nil {
		return err
	}
	args := slices.Clone(a.args)
	for i, arg := range args {
		if name, _, _ := strings.Cut(arg, "="); name == "--"+detachFlag {
			args[i] = "--" + apartFlag
			break // what follows may be a prompt with the same word
		}
	}
	var input io.Reader
	if more != "" {
		input = strings.NewReader(more)
	}
	id, err := attach.Start(ctx, args, input, a.Err)
	if err != nil {
		return err
	}
	a.Notef("session %s runs; join it with: swarm attach %s; end it with: swarm quit %s", id, id, id)
	return a.Print(id + "\n")
}
