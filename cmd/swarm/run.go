package main

import (
	"errors"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/spf13/cobra"
)

func newRun(a *app) *cobra.Command {
	flags := &runFlags{}
	c := &cobra.Command{
		Use:   "run PROMPT…",
		Short: "Do one job and print the answer",
		Long: `Run gives the lead agent a prompt, shows on standard error what the agents do,
and prints the answer when all of them have come to rest. The prompt may also
come from standard input; with both, standard input follows the prompt.`,
		Example: `  swarm run "review the error handling in this package"
  git diff | swarm run "review this change" --max-turns 30
  swarm run --output-format json "how many tests are there?" | jq -r .result`,
		RunE: func(c *cobra.Command, args []string) error { return a.runPrompt(c, flags, args) },
	}
	flags.add(c)
	return c
}

func (a *app) runPrompt(c *cobra.Command, flags *runFlags, args []string) error {
	if err := flags.check(c); err != nil {
		return err
	}
	prompt, err := a.Prompt(args)
	if err != nil {
		return err
	}
	if prompt == "" && flags.resume == "" && !flags.continued {
		return &cli.ExitError{Code: cli.ExitUsage, Err: errNoPrompt}
	}
	opts, err := flags.options(a)
	if err != nil {
		return err
	}
	_, err = a.work(c.Context(), job{opts: opts, prompt: prompt, show: flags.show})
	return err
}

var errNoPrompt = errors.New(`the prompt is empty; say what is to be done: swarm run "find the largest functions"`)
