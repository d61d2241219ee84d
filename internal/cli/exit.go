package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
)

// The exit statuses.
const (
	ExitFailed      = 1
	ExitUsage       = 2
	ExitHungUp      = 129
	ExitInterrupted = 130
	ExitTerminated  = 143
)

// ExitError is an error with an exit status. If Err is nil, the error has been printed
// already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error of the command line, with what to write instead.
func Usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Report prints an error and returns its exit status.
func (c *Console) Report(err error) int {
	if err == nil {
		return 0
	}
	code := ExitFailed
	var exit *ExitError
	var option *swarm.OptionError
	switch {
	case errors.As(err, &exit):
		code = exit.Code
		if exit.Err == nil {
			return code
		}
	case errors.As(err, &option):
		code = ExitUsage
	}
	c.Notef("swarm: %s", OneLine(err.Error()))
	return code
}

// OneLine joins the lines of a text.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}
