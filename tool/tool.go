// Package tool defines how agents act: a Tool, its Spec for the model, the Call that a
// model makes, and the Result that it sees.
//
//	type clock struct{}
//
//	func (clock) Spec() tool.Spec { return tool.Spec{Name: "Clock", Description: "Tells the time.", Schema: schema} }
//
//	func (clock) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
//		return tool.Result{Text: time.Now().String()}, nil
//	}
//
//	set := tool.NewSet(clock{})
//
// Laws:
//
//   - Two kinds of failure. What the model can act on (a missing file, a
//     refused edit) is a Result with IsError; an error returned by Run is a
//     failure of the runtime and ends the turn (TestInputThatIsNotValidIsAResult in
//     tool/builtin).
//   - A tool obeys its context. When it is cancelled, Run returns within a
//     second and nothing that the call started is left running
//     (TestAStopLeavesNothingBehind, TestGrepStopsWithItsContext and
//     TestGlobStopsWithItsContext in tool/builtin).
//   - A tool belongs to one agent. Calls marked Parallel in the Spec may
//     overlap within one answer; all others run one after another, in the
//     order in which the model made them (TestParallelCallsOverlapAndKeepTheirOrder in
//     internal/turn).
//
// Not promised: that a call runs once. The model gets the result "in doubt" for a call if
// a crash interrupted it; only a call with a recorded result is never repeated.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Spec describes a tool to the model and to the runtime.
type Spec struct {
	Name        string
	Aliases     []string // other names a model or a definition may use
	Description string
	Schema      json.RawMessage // JSON Schema of the input, written as is

	// ReadOnly declares that a call changes nothing outside the agent, so that it needs
	// no permission and may be repeated after a crash.
	ReadOnly bool
	// Parallel declares that calls of one answer may run at the same time.
	Parallel bool
	// PerAnswer is how many calls of one answer are made; the rest are refused. 0 is no
	// limit.
	PerAnswer int
	// Recorded declares that the effect of a call is itself a journal record (a message, a
	// spawn), so that a crash cannot leave it in doubt.
	Recorded bool
}

// Call is one tool call of a model.
type Call struct {
	ID    string // the model's id of this use, unique within the agent
	Name  string
	Input json.RawMessage
	// Profile is what the call is held to if it runs commands: "inspect" if it was allowed
	// only because it reads, "edit" if only because it changes files of the working
	// directories, "open" or "" otherwise.
	Profile string
	// Paths holds where the absolute paths of the input led, all links followed, when the
	// call was decided about; what is not in it was not judged. A file tool acts there.
	Paths map[string]string
}

// Result is the result of a call for the model.
type Result struct {
	Text    string
	IsError bool
	// Detail is the result in a structured form for programs (tool_use_result of the
	// stream); nil if Text is all.
	Detail json.RawMessage
}

// Tool is something that an agent can do. One agent uses it, concurrently only if the Spec
// has Parallel set.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, c Call) (Result, error)
}

// Errorf returns the result of a call that failed in a way that the model can act on.
func Errorf(format string, args ...any) Result {
	return Result{Text: fmt.Sprintf(format, args...), IsError: true}
}

// Decode decodes a call's input into v. It ignores unknown fields, since models add some at
// times. If ok is false, bad is the result for the model.
func Decode(c Call, v any) (bad Result, ok bool) {
	input := c.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := json.Unmarshal(input, v); err != nil {
		return Errorf("the input of %s is not valid: %v", c.Name, err), false
	}
	return Result{}, true
}

// Set is an ordered collection of tools with unique names. The zero value is
// empty. A Set is not changed once it is in use.
type Set struct {
	tools []Tool
	names []string
}

// NewSet returns the set of the given tools in their order. A later tool with
// the name of an earlier one replaces it.
func NewSet(tools ...Tool) *Set {
	s := &Set{}
	for _, t := range tools {
		s.add(t)
	}
	return s
}

func (s *Set) add(t Tool) {
	name := t.Spec().Name
	if i := slices.Index(s.names, name); i >= 0 {
		s.tools[i] = t
		return
	}
	s.tools = append(s.tools, t)
	s.names = append(s.names, name)
}

// Lookup finds a tool by its name or an alias.
func (s *Set) Lookup(name string) (Tool, bool) {
	if i := slices.Index(s.names, name); i >= 0 {
		return s.tools[i], true
	}
	for _, t := range s.tools {
		if slices.Contains(t.Spec().Aliases, name) {
			return t, true
		}
	}
	return nil, false
}

// All returns the tools in order; the caller must not change the slice.
func (s *Set) All() []Tool { return s.tools }

// Names returns the tools' names in order; the caller must not change the slice.
func (s *Set) Names() []string { return s.names }

// Only returns the set of the listed tools, in s's order.
func (s *Set) Only(names []string) *Set {
	kept := &Set{}
	for i, t := range s.tools {
		if slices.Contains(names, s.names[i]) {
			kept.add(t)
		}
	}
	return kept
}

// Unknown returns the result of a call to a tool that is not in the set.
func (s *Set) Unknown(name string) Result {
	return Errorf("there is no tool named %q; this agent has: %s", name, strings.Join(s.names, ", "))
}
