package main

import (
	"context"
	"io"
	"os"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
)

// app is the context of all subcommands.
type app struct {
	cli.Console
	args []string       // the command line
	exit func(code int) // ends the process when it would not end by itself
}

// run runs one command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, env func(string) string) int {
	a := &app{Console: cli.Console{In: in, Out: out, Err: errOut, Getenv: env}, args: args, exit: os.Exit}
	root := newRoot(a)
	root.SetArgs(insertRun(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return a.Report(root.ExecuteContext(ctx))
}

// warnOfProblems prints the problems that were found when a session was opened.
func warnOfProblems(con *cli.Console, s *swarm.Session) {
	for _, p := range cli.Bounded(s.Problems(), "swarm doctor") {
		con.Notef("warning: %s", p)
	}
}
