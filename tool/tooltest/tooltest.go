// Package tooltest runs tools in tests.
//
//	read := tooltest.Find(t, tools, "Read")
//	text := tooltest.OK(t, read, tooltest.Input{"file_path": path})
//	reason := tooltest.Refused(t, read, tooltest.Input{"file_path": "missing"})
package tooltest

import (
	"encoding/json"
	"testing"

	"github.com/actorswarm/swarm/tool"
)

// Input is the input of a call, by field.
type Input map[string]any

// Run calls a tool once and fails the test on an error of the runtime. The
// result may still have IsError.
func Run(t testing.TB, run tool.Tool, in Input) tool.Result {
	t.Helper()
	res, err := run.Run(t.Context(), Call(t, run, in))
	if err != nil {
		t.Fatalf("%s failed in the runtime: %v", run.Spec().Name, err)
	}
	return res
}

// OK is Run for a call that must succeed; it returns the text.
func OK(t testing.TB, run tool.Tool, in Input) string {
	t.Helper()
	res := Run(t, run, in)
	if res.IsError {
		t.Fatalf("%s(%v) was refused: %s", run.Spec().Name, in, res.Text)
	}
	return res.Text
}

// Refused is Run for a call that must be refused; it returns the reason.
func Refused(t testing.TB, run tool.Tool, in Input) string {
	t.Helper()
	res := Run(t, run, in)
	if !res.IsError {
		t.Fatalf("%s(%v) was not refused: %s", run.Spec().Name, in, res.Text)
	}
	return res.Text
}

// Call builds a call of a tool.
func Call(t testing.TB, of tool.Tool, in Input) tool.Call {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatalf("encode the input of %s: %v", of.Spec().Name, err)
	}
	return tool.Call{ID: "call-1", Name: of.Spec().Name, Input: raw}
}

// Find returns the tool with a name.
func Find(t testing.TB, tools []tool.Tool, name string) tool.Tool {
	t.Helper()
	found, ok := tool.NewSet(tools...).Lookup(name)
	if !ok {
		t.Fatalf("there is no tool %s in the set", name)
	}
	return found
}
