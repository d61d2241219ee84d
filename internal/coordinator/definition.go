package coordinator

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/transcript"
)

// definition returns the definition that an agent was planned with or, after a restart,
// the present one of its type. A lead has none.
func (c *Coordinator) definition(spec agent.Spec) defs.Definition {
	d, ok := c.planned.take(spec.ID)
	if !ok && c.opts.Definitions != nil {
		d, _ = c.opts.Definitions().Lookup(spec.Type)
	}
	return d
}

// FinishSpawn gives an agent its task if a crash came between its start, or its waking by
// the call, and the task. parent is needed for a fork only.
func (c *Coordinator) FinishSpawn(parent, t *transcript.Transcript, call, task string) error {
	record := t.Record()
	if record.Closed || record.Turns > record.Reported || record.Turns > 0 && record.Woken.Call != call {
		return nil
	}
	if record.Spec.Where != "" {
		return c.sendTask(t, task)
	}
	var err error
	if record.Spec.Fork && record.Turns == 0 {
		err = t.FinishFork(parent, tools.ForkPlaceholder, tools.ForkDirective(parent.Spec(), record.Spec, task))
	} else {
		err = t.Prompt("parent", task)
	}
	if err != nil {
		return err
	}
	c.publish(t, event.Started{Model: record.Spec.Model, Task: record.Spec.Description, Prompt: task, Background: record.Spec.Role == agent.Background, Resumed: record.Turns > 0})
	c.Wake(t.ID())
	return nil
}
