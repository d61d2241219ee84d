package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// Teammate is a teammate to be started for a team.
type Teammate struct {
	Team    agent.Membership
	Call    spawn.Call // of the lead of the team; without a prompt it waits for its first message
	Color   string     // empty: that of its type
	Budget  budget.Limits
	Restart agent.Restart
}

// PlanTeammate returns the teammate that StartTeammate would start for a lead, or why it
// would not, as far as that is known beforehand.
func (c *Coordinator) PlanTeammate(lead agent.Spec, h Teammate) (agent.Spec, error) {
	h.Call.Member = &h.Team
	plan, err := c.opts.Policy.Plan(c.opts.Definitions(), h.Call, lead, c.ToolNames())
	if err != nil {
		return plan.Spec, err
	}
	return plan.Spec, c.opts.Policy.CheckDir(plan.Spec.Dir, lead.Dir)
}

// Teammate makes a teammate of the team's lead, with the checks and limits of a call
// of that lead. It returns when the agent and its prompt are on disk.
func (c *Coordinator) StartTeammate(ctx context.Context, h Teammate) (*transcript.Transcript, error) {
	lead, ok := c.opts.Store.Get(h.Team.Lead)
	if !ok {
		return nil, fmt.Errorf("team %s has no lead any more: there is no agent %s", h.Team.Name, h.Team.Lead)
	}
	h.Call.Member = &h.Team
	spec, def, err := c.plan(ctx, lead.Spec(), h.Call)
	if err != nil {
		return nil, err
	}
	spec.Budget, spec.Restart, spec.Color = h.Budget.Or(spec.Budget), h.Restart, cmp.Or(h.Color, spec.Color)
	if spec.Isolation != "" {
		done, err := c.isolate(&spec)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	c.planned.put(spec.ID, def)
	t, err := c.Spawn(c.scope, spec, h.Call.Prompt)
	if err != nil {
		c.definition(spec) // no turn will take it
	}
	return t, err
}

// Remove ends an agent for good and releases its name.
func (c *Coordinator) Remove(ctx context.Context, id mailbox.AgentID) error {
	t, err := c.transcript(id)
	if err != nil {
		return err
	}
	if err := c.Stop(ctx, id, turn.ErrKilled); err != nil {
		return err
	}
	c.registry.Release(t.Spec())
	return nil
}

// restartsWithin is the default time in which restarts are counted.
const restartsWithin = time.Hour

// restarts begins a failed turn of the agent anew if its restarts allow it, and
// reports whether it did.
func (h *host) restarts(l agent.Record) (bool, error) {
	r := l.Spec.Restart
	if r.Max == 0 || l.Outcome != agent.Failed || h.stopped != nil {
		return false, nil
	}
	within := cmp.Or(r.Within, restartsWithin)
	h.failed = slices.DeleteFunc(h.failed, func(t time.Time) bool { return time.Since(t) > within })
	if len(h.failed) >= r.Max {
		return false, nil
	}
	h.failed = append(h.failed, time.Now())
	if l.Turns == 1 {
		h.asked.Store(true) // the agent that gave it its first task still waits
	}
	h.emit(event.Warning{Text: fmt.Sprintf("the turn failed and is begun anew (%d of %d): %s", len(h.failed), r.Max, l.Reason)})
	return true, h.t.Prompt("recovery", fmt.Sprintf("Your last turn failed: %s. See how far you came, and go on.", report.Cut(l.Reason, 500)))
}

// restartPolicy returns how often the host of an agent is restarted after a panic.
func (c *Coordinator) restartPolicy(s agent.Spec) *kernel.RestartPolicy {
	if s.Restart.Max == 0 {
		return c.opts.Restart
	}
	return &kernel.RestartPolicy{Max: s.Restart.Max, Within: cmp.Or(s.Restart.Within, restartsWithin)}
}
