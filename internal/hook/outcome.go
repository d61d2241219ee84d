package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Outcome is how one hook ended.
type Outcome struct {
	// Source is the settings file, Command what was run.
	Source, Command string
	// Code is the exit code; -1 if there is none, and then Err says why.
	Code int
	// Stdout and Stderr hold the first MaxOutput bytes.
	Stdout, Stderr string
	// Output is the JSON object on standard output, or nil.
	Output *Output
	// Err is why the hook did not run to its end: *TimeoutError for one.
	Err error

	failureBlocks bool
}

// Output is what a hook may answer in JSON.
type Output struct {
	Continue      *bool           `json:"continue"`
	StopReason    string          `json:"stopReason"`
	SystemMessage string          `json:"systemMessage"`
	Decision      string          `json:"decision"`
	Reason        string          `json:"reason"`
	Specific      json.RawMessage `json:"hookSpecificOutput"` // of the event
}

// TimeoutError reports a hook that was ended because it took too long.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("it timed out after %v", e.After) }

// parseOutput reads standard output that begins with "{"; nil if it is none.
func parseOutput(stdout string) *Output {
	text := bytes.TrimSpace([]byte(stdout))
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil
	}
	var out Output
	if json.Unmarshal(text, &out) != nil {
		return nil
	}
	return &out
}

// Blocked reports whether the hook objects, and why: exit code 2, a decision in
// its JSON, or a failure of one with onFailure block.
func (o Outcome) Blocked() (why string, blocked bool) {
	said := Output{}
	if o.Output != nil {
		said = *o.Output
	}
	switch {
	case o.Code == 2 && o.Err == nil:
		return cmp.Or(said.Reason, strings.TrimSpace(o.Stderr), "the hook gave no reason"), true
	case o.failureBlocks && (o.Err != nil || o.Code != 0):
		return fmt.Sprintf("%v; blocked, as its onFailure is block", o.Failure()), true
	case o.Err == nil && said.Continue != nil && !*said.Continue:
		return cmp.Or(said.StopReason, said.Reason, "the hook gave no reason"), true
	case o.Err == nil && said.Decision == "block":
		return cmp.Or(said.Reason, "the hook gave no reason"), true
	}
	return "", false
}

// Failure returns nil for exit code 0, and else what went wrong, with the first
// line of standard error.
func (o Outcome) Failure() error {
	switch {
	case o.Err != nil:
		return fmt.Errorf("the hook %q of %s failed: %w", o.Command, o.Source, o.Err)
	case o.Code == 0:
		return nil
	}
	said, _, _ := strings.Cut(strings.TrimSpace(o.Stderr), "\n")
	return fmt.Errorf("the hook %q of %s failed with exit code %d: %s", o.Command, o.Source, o.Code, cmp.Or(said, "it said nothing"))
}
