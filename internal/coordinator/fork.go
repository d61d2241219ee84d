package coordinator

import (
	"context"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/transcript"
)

// fork starts an agent that begins with its parent's conversation.
func (c *Coordinator) fork(scope context.Context, parent *transcript.Transcript, spec agent.Spec, task string) error {
	if err := c.reserve(spec); err != nil {
		return err
	}
	t, err := c.opts.Store.CreateFork(parent, spec, tools.ForkPlaceholder, tools.ForkDirective(parent.Spec(), spec, task))
	if err != nil {
		return fmt.Errorf("fork %s: %w", agent.DisplayName(parent.Spec()), err)
	}
	if _, err := c.host(scope, t, 1); err != nil {
		return err
	}
	c.publish(t, event.Started{Model: spec.Model, Task: spec.Description, Prompt: task, Background: spec.Role == agent.Background})
	c.Wake(spec.ID)
	return nil
}
