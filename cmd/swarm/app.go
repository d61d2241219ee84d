package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/actorswarm/swarm"
)

// app is what every subcommand works with.
type app struct {
	args []string // the command line
	in   io.Reader
	out  io.Writer
	err  io.Writer
	env  func(string) string
	exit func(code int) // ends the process when it would not end by itself
}

// run does one command line and returns the exit status.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer, env func(string) string) int {
	a := &app{args: args, in: in, out: out, err: errOut, env: env, exit: os.Exit}
	root := newRoot(a)
	root.SetArgs(printFirst(root, args))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	return a.report(root.ExecuteContext(ctx))
}

// The exit statuses.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitHungUp      = 129
	exitInterrupted = 130
	exitTerminated  = 143
)

// exitError is an error that has an exit status of its own. Without err
// everything has been said already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef returns an error of the command line; it says what to write instead.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// report tells the person what went wrong and returns the exit status.
func (a *app) report(err error) int {
	if err == nil {
		return 0
	}
	code := exitFailed
	var exit *exitError
	var option *swarm.OptionError
	switch {
	case errors.As(err, &exit):
		code = exit.code
		if exit.err == nil {
			return code
		}
	case errors.As(err, &option):
		code = exitUsage
	}
	a.say("swarm: %s", oneLine(err.Error()))
	return code
}

// say writes one line to standard error. There is nobody to tell if that fails.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "%s\n", clean(fmt.Sprintf(format, args...)))
}

// opened says what a session has to say when it is opened.
func (a *app) opened(s *swarm.Session) {
	for _, p := range s.Problems() {
		a.say("warning: %s", p)
	}
}

// oneLine joins the lines of an error that is made of several.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}

func (a *app) stateDir() (string, error) { return swarm.StateDir(a.env) }
