package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
)

// agents returns the agents of a session, running or not.
func (a *app) agents(ctx context.Context, info swarm.Info) (all []actors.Status, running bool, err error) {
	r, err := a.Sessions().Dial(info)
	if err == nil {
		defer r.Close()
		all, err = r.Agents(ctx)
		return all, true, err
	}
	if !cli.NotRunning(err) {
		return nil, false, err
	}
	all, _, err = swarm.Peek(ctx, info)
	return all, false, atDoor(info, err)
}

// atDoor says what to do about a session that has an owner which does not answer.
func atDoor(info swarm.Info, err error) error {
	if errors.Is(err, swarm.ErrOpen) {
		return fmt.Errorf("session %s is starting or about to end; try again: %w", info.ID, err)
	}
	return err
}
