package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// Stopper finds and ends agents for the caller.
type Stopper interface {
	// Spec describes the caller.
	Spec() agent.Spec
	// Tools returns the caller's tools.
	Tools() []tool.Tool
	// Find returns the agent that a name or id means.
	Find(name string) (agent.Spec, bool)
	// Parent returns the agent that has started another.
	Parent(s agent.Spec) (agent.Spec, bool)
	// Running returns the names of the agents that run, without the lead.
	Running() []string
	// Stop ends an agent. It returns the agents that are at work for it.
	Stop(ctx context.Context, id mailbox.AgentID) ([]actors.Orphan, error)
}

// Stop is the TaskStop tool: it ends other agents and background commands.
type Stop struct{ stopper Stopper }

// NewStop returns the TaskStop tool of an agent.
func NewStop(s Stopper) *Stop { return &Stop{s} }

const stopSchema = `{"type":"object","properties":{` +
	`"task_id":{"type":"string","description":"Name or id of the agent, or id of the background command, to end"}},"required":["task_id"]}`

// Spec describes the tool.
func (s *Stop) Spec() tool.Spec {
	return tool.Spec{
		Name:        stopName,
		Aliases:     []string{"KillShell"},
		Description: "Ends a running agent, teammate or background command at once, whatever it is doing. An agent's transcript is kept.",
		Schema:      json.RawMessage(stopSchema),
		Recorded:    true, // stopping what has stopped changes nothing
	}
}

type stopInput struct {
	Task  string `json:"task_id"`
	Shell string `json:"shell_id"` // as in KillShell
}

// Run ends a background command of the caller, or an agent below it.
func (s *Stop) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in stopInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	name := cmp.Or(in.Task, in.Shell)
	if s.stopCommand(name) {
		return tool.Result{
			Text:   fmt.Sprintf("The background command %s is stopped.", name),
			Detail: report.Detail(map[string]any{"message": "stopped", "task_id": name, "task_type": "local_bash"}),
		}, nil
	}
	target, ok := s.stopper.Find(name)
	if !ok {
		return tool.Errorf("there is no agent %q; running are: %s", name, cmp.Or(strings.Join(s.stopper.Running(), ", "), "none")), nil
	}
	if refusal := s.refusal(target); refusal != "" {
		return tool.Errorf("%s", refusal), nil
	}
	orphans, err := s.stopper.Stop(ctx, target.ID)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	return tool.Result{
		Text:   fmt.Sprintf("%s is stopped.%s", agent.DisplayName(target), lines(orphans)),
		Detail: report.Detail(map[string]any{"message": "stopped", "task_id": target.ID, "task_type": "agent"}),
	}, nil
}

// lines returns a line for each orphan.
func lines(orphans []actors.Orphan) string {
	var text strings.Builder
	for _, o := range orphans {
		text.WriteString("\n" + o.String() + ".")
	}
	return text.String()
}

// background is a tool whose calls may go on after their result, under an id.
type background interface{ Stop(id string) error }

// stopCommand ends a background command of the caller, if it has one of that id.
func (s *Stop) stopCommand(id string) bool {
	for _, t := range s.stopper.Tools() {
		if b, ok := t.(background); ok && b.Stop(id) == nil {
			return true
		}
	}
	return false
}

// refusal returns why the caller may not end an agent, or "": it may end those
// that it has started, and all that they have started.
func (s *Stop) refusal(target agent.Spec) string {
	me := s.stopper.Spec()
	if target.ID == me.ID || target.Role == agent.Lead {
		return "the lead and yourself cannot be stopped this way: end your turn instead"
	}
	for above, ok := target, true; ok; above, ok = s.stopper.Parent(above) {
		if above.Parent == me.ID {
			return ""
		}
	}
	return fmt.Sprintf("%s is not an agent of yours: only who started it can stop it", agent.DisplayName(target))
}
