package hook

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Outcome describes how one hook ended.
type Outcome struct {
	// Source is the settings file, Command what was run, or the URL that was asked.
	Source, Command string
	// Code is the exit code; -1 if there is none, and then Err is set.
	Code int
	// Stdout and Stderr hold the first MaxOutput bytes.
	Stdout, Stderr string
	// Output is the JSON object on standard output, or nil.
	Output *Output
	// Err is why the hook did not end by itself, such as *TimeoutError.
	Err error
	// Broken is set if the settings alone show that the hook cannot run; Parse has
	// reported it.
	Broken bool
	// Rewake is set for a hook that wakes the agent if it exits with code 2.
	Rewake bool

	// Problem names what is wrong with the JSON that the hook printed; "" if nothing is.
	Problem string
	// Environ is what the hook has written to the file of CLAUDE_ENV_FILE.
	Environ string

	failureBlocks bool
	malformed     bool // the hook printed JSON that cannot be read, at least in part
}

// TimeoutError reports a hook that took too long and was ended.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it timed out after %v", e.After) }

// Blocked reports whether the hook objects, and why: exit code 2, a decision in
// its JSON, a matcher that cannot be used, or a failure of one with onFailure block.
func (o Outcome) Blocked() (why string, blocked bool) {
	said := Output{}
	if o.Output != nil {
		said = *o.Output
	}
	switch {
	case o.Code == 2 && o.Err == nil:
		return cmp.Or(said.Reason, strings.TrimSpace(o.Stderr), "the hook gave no reason"), true
	case errors.As(o.Err, new(*MatcherError)):
		return o.Failure().Error(), true
	case o.failureBlocks && (o.Err != nil || o.Code != 0 || o.malformed):
		return fmt.Sprintf("%v; blocked, as its onFailure is block", o.Failure()), true
	case o.Err == nil && said.Continue != nil && !*said.Continue:
		return cmp.Or(said.StopReason, said.Reason, "the hook gave no reason"), true
	case o.Err == nil && said.Decision == "block":
		return cmp.Or(said.Reason, "the hook gave no reason"), true
	}
	return "", false
}

// Failure returns nil for exit code 0, and otherwise an error with the first line of
// standard error.
func (o Outcome) Failure() error {
	switch {
	case o.Err != nil:
		return fmt.Errorf("the hook %q of %s failed: %w", o.Command, o.Source, o.Err)
	case o.Code == 0 && o.malformed:
		return fmt.Errorf("the hook %q of %s: %s", o.Command, o.Source, o.Problem)
	case o.Code == 0:
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(o.Stderr), "\n")
	return fmt.Errorf("the hook %q of %s failed with exit code %d: %s", o.Command, o.Source, o.Code, cmp.Or(said, "it printed nothing"))
}
