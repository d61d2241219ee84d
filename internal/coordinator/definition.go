package coordinator

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/transcript"
)

// definition returns what an agent was planned with, or after a restart what
// its type is now. A lead has none.
func (c *Coordinator) definition(spec agent.Spec) defs.Definition {
	d, ok := c.planned.take(spec.ID)
	if !ok && c.opts.Definitions != nil {
		d, _ = c.opts.Definitions().Lookup(spec.Type)
	}
	return d
}

// finishSpawn gives an agent its task if a crash came between that and its
// birth, or its waking by the call: nobody else would.
func (c *Coordinator) finishSpawn(parent, t *transcript.Transcript, call, task string) error {
	life := t.Record()
	if life.Closed || life.Turns > life.Reported || life.Turns > 0 && life.Woken.Call != call {
		return nil
	}
	if life.Spec.Where != "" {
		return c.sendTask(t, task)
	}
	var err error
	if life.Spec.Fork && life.Turns == 0 {
		err = t.FinishFork(parent, tools.ForkPlaceholder, tools.ForkDirective(parent.Spec(), life.Spec, task))
	} else {
		err = t.Prompt("parent", task)
	}
	if err != nil {
		return err
	}
	c.publish(t, event.Started{Model: life.Spec.Model, Task: life.Spec.Description, Prompt: task, Background: life.Spec.Role == agent.Background, Resumed: life.Turns > 0})
	c.Wake(t.ID())
	return nil
}
