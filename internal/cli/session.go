package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
)

// Session is a session as a command looks at it, whether a process runs it or not.
type Session interface {
	swarm.View
	Bus(ctx context.Context) (swarm.BusState, error)
	AddBusUser(ctx context.Context, name string) (swarm.BusCredentials, error)
	RemoveBusUser(ctx context.Context, name string) error
	SetBridge(ctx context.Context, session string, allowed bool) error
	WithdrawBridge(ctx context.Context, session string) error
}

var _ Session = (*swarm.Remote)(nil)

// Open reaches the process that runs a session, or else reads what is kept of it. The
// caller closes it.
func (s Sessions) Open(info swarm.Info) (session Session, running bool, err error) {
	state, err := s.StateDir()
	if err != nil {
		return nil, false, err
	}
	v, err := swarm.Look(state, info)
	if err != nil {
		return nil, false, err
	}
	if r, runs := v.(*swarm.Remote); runs {
		return r, true, nil
	}
	return stopped{v, info}, false, nil
}

// stopped is a session that no process runs: everything is read from its files, and
// changed there.
type stopped struct {
	swarm.View
	info swarm.Info
}

// Agents says besides what to do about a session whose owner does not answer.
func (s stopped) Agents(ctx context.Context) ([]actors.Status, error) {
	all, err := s.View.Agents(ctx)
	return all, s.busy(err)
}

// Agent says besides what to do about a session whose owner does not answer.
func (s stopped) Agent(ctx context.Context, name string) (actors.Status, error) {
	a, err := s.View.Agent(ctx, name)
	return a, s.busy(err)
}

// busy says what to do about a session whose owner does not answer yet, or any more.
func (s stopped) busy(err error) error {
	if errors.Is(err, swarm.ErrOpen) {
		return fmt.Errorf("session %s is starting or about to end; try again: %w", s.info.ID, err)
	}
	return err
}

func (s stopped) Bus(context.Context) (swarm.BusState, error) { return swarm.KeptBus(s.info) }

func (s stopped) AddBusUser(ctx context.Context, name string) (swarm.BusCredentials, error) {
	return swarm.AddBusUser(ctx, s.info, name)
}

func (s stopped) RemoveBusUser(ctx context.Context, name string) error {
	return swarm.RemoveBusUser(ctx, s.info, name)
}

func (s stopped) SetBridge(ctx context.Context, session string, allowed bool) error {
	return swarm.SetBridge(ctx, s.info, session, allowed)
}

func (s stopped) WithdrawBridge(ctx context.Context, session string) error {
	return swarm.WithdrawBridge(ctx, s.info, session)
}
