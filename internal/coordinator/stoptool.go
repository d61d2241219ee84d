package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// stopTool is the TaskStop tool of one agent: it ends others.
type stopTool struct{ h *host }

const stopSchema = `{"type":"object","properties":{` +
	`"task_id":{"type":"string","description":"Name or id of the agent, or id of the background command, to end"}},"required":["task_id"]}`

func (s *stopTool) Spec() tool.Spec {
	return tool.Spec{
		Name:        "TaskStop",
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

func (s *stopTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
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
	t, ok := s.h.c.Find(name)
	if !ok {
		return tool.Errorf("there is no agent %q; running are: %s", name, s.h.c.runningNames()), nil
	}
	spec := t.Spec()
	if refusal := s.refuses(spec); refusal != "" {
		return tool.Errorf("%s", refusal), nil
	}
	left := leftBehind(s.h.c.Status(), spec.ID)
	if err := s.h.c.Stop(ctx, spec.ID, turn.StoppedBy(agent.DisplayName(s.h.t.Spec()))); err != nil {
		return tool.Errorf("%v", err), nil
	}
	return tool.Result{
		Text:   fmt.Sprintf("%s is stopped.%s", agent.DisplayName(spec), left),
		Detail: report.Detail(map[string]any{"message": "stopped", "task_id": spec.ID, "task_type": "agent"}),
	}, nil
}

// leftBehind says what the end of an agent means for those at work for it.
func leftBehind(all []actors.Status, id mailbox.AgentID) string {
	var text strings.Builder
	for _, o := range status.Orphans(all, id) {
		text.WriteString("\n" + o.String() + ".")
	}
	return text.String()
}

// background is a tool whose calls may go on after their result, under an id.
type background interface{ Stop(id string) error }

// stopCommand ends a background command of this agent, if it has one of that id.
func (s *stopTool) stopCommand(id string) bool {
	for _, t := range s.h.kit.tools.All() {
		if b, ok := t.(background); ok && b.Stop(id) == nil {
			return true
		}
	}
	return false
}

// refuses says why an agent may not end another: only a descendant's, and the
// lead every teammate's.
func (s *stopTool) refuses(target agent.Spec) string {
	me := s.h.t.Spec()
	if target.ID == me.ID || target.Role == agent.Lead {
		return "the lead and yourself cannot be stopped this way: end your turn instead"
	}
	for up := target; up.Parent != ""; {
		if up.Parent == me.ID {
			return ""
		}
		t, ok := s.h.c.opts.Store.Get(up.Parent)
		if !ok {
			break
		}
		up = t.Spec()
	}
	return fmt.Sprintf("%s is not an agent of yours: only who started it can stop it", agent.DisplayName(target))
}

func (c *Coordinator) runningNames() string {
	names := []string{}
	for _, s := range c.Status() {
		if s.Running && s.Life.Spec.Role != agent.Lead {
			names = append(names, agent.DisplayName(s.Life.Spec))
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
