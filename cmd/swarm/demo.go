package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm/examples/review"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/spf13/cobra"
)

func newDemo(a *app) *cobra.Command {
	var dir, model string
	var keep bool
	var show showFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Watch a team review a git repository, offline",
		Long: `Demo starts a lead and its teammates on a git repository. They search and read
it with real tools, write to each other while they work, and leave a report in
the repository. Without --model a script answers in the model's place, so it
needs neither a key nor a network; with --model sonnet the same team thinks for
itself.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 0, "swarm demo"); err != nil {
				return err
			}
			if err := show.check(); err != nil {
				return err
			}
			return a.demo(c.Context(), dir, model, keep, show)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the `repository` (default: the working directory)")
	c.Flags().StringVar(&model, "model", "", "a real `model`, such as sonnet")
	c.Flags().BoolVar(&keep, "keep", false, "keep the session, to look at it with: swarm ps")
	show.add(c)
	return c
}

// checkRepository returns an error if dir is not in a git repository, which the demo
// reviews.
func checkRepository(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil // opening the session reports it
	}
	top, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for at := top; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return nil
		}
		if at == filepath.Dir(at) {
			return cli.Usagef("%s is not in a git repository; name one with --dir", dir)
		}
	}
}

// demo runs the review team. It removes the session after success, unless the user
// wants to keep it.
func (a *app) demo(ctx context.Context, dir, model string, keep bool, show showFlags) error {
	opts, err := review.Options(dir)
	if err != nil {
		return err
	}
	if err := checkRepository(opts.Dir); err != nil {
		return err
	}
	if err := worktree.Installed(); err != nil {
		return fmt.Errorf("the demo reviews a repository with git: %w", err)
	}
	opts.Getenv = a.Getenv
	if opts.Model = model; model == "" {
		state, err := a.Sessions().StateDir()
		if err != nil {
			return err
		}
		if opts.Model, err = review.InstallScript(filepath.Join(state, "demo")); err != nil {
			return err
		}
	}
	info, err := a.work(ctx, job{opts: opts, prompt: review.Prompt, show: show})
	if err != nil {
		return err
	}
	report := filepath.Join(info.Dir, review.Report)
	if _, err := os.Stat(report); err != nil {
		return fmt.Errorf("the team left no report: %w; look at the session with: swarm ps %s", err, info.ID)
	}
	a.Notef("the report is in %s", report)
	if keep {
		a.Notef("the session is kept; look at it with: swarm ps %s; talk with it: swarm resume %s", info.ID, info.ID)
		return nil
	}
	return os.RemoveAll(info.Path)
}
