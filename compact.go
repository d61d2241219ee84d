package swarm

import (
	"context"

	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/workerapi"
)

// Compact replaces the older part of an agent's conversation, by name or id, by
// a summary that its model makes. It returns when that is recorded: an agent at
// work is compacted at its next step. The record keeps the whole.
func (s *Session) Compact(ctx context.Context, name string) error {
	ctx, cancel := node.Joined(ctx, s.scope)
	defer cancel()
	t, err := s.roster.Find(name)
	if err != nil {
		_, err = s.askNested(ctx, name, workerapi.DoCompactBelow, err)
		return err
	}
	return s.agents.Compact(ctx, t.ID())
}
