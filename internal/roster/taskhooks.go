package roster

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/team/board"
)

// TaskHooks run what people have attached to tasks. An error keeps what it is about from
// happening.
type TaskHooks interface {
	TaskCreated(ctx context.Context, a agent.Spec, team string, t agenthook.Task) error
	TaskCompleted(ctx context.Context, a agent.Spec, team string, t agenthook.Task) error
}

// ConnectHooks makes hooks run when agents create and complete tasks.
func (r *Roster) ConnectHooks(h TaskHooks) { r.hooks = h }

// created runs the hooks of a new task, and takes the task away if they object.
func (d *taskTools) created(ctx context.Context, b *board.Board, me board.Member, t board.Task) error {
	if d.roster.hooks == nil {
		return nil
	}
	spec, team := d.about()
	err := d.roster.hooks.TaskCreated(ctx, spec, team, hooked(t))
	if err == nil {
		return nil
	}
	return errors.Join(err, b.Delete(context.WithoutCancel(ctx), me, t.ID))
}

// completing runs the hooks of a task that is about to be completed.
func (d *taskTools) completing(ctx context.Context, b *board.Board, me board.Member, id board.ID) error {
	t, err := b.Get(id)
	if err != nil || d.roster.hooks == nil || t.Status == board.Completed || !me.Lead && t.Owner != me.Name {
		return nil // the list says what is wrong
	}
	spec, team := d.about()
	return d.roster.hooks.TaskCompleted(ctx, spec, team, hooked(t))
}

// about is the agent, and the name of the team that it works in.
func (d *taskTools) about() (agent.Spec, string) {
	spec := d.self.Transcript.Spec()
	home := d.roster.agents.Home(spec)
	if home.Name != "" {
		return spec, home.Name
	}
	return spec, home.Team
}

func hooked(t board.Task) agenthook.Task {
	return agenthook.Task{ID: string(t.ID), Subject: t.Subject, Description: t.Description}
}
