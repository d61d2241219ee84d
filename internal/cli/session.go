package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
)

// Session is a session that commands read and change, whether a process runs it or not.
type Session interface {
	swarm.View
	Bus(ctx context.Context) (swarm.BusState, error)
	AddBusUser(ctx context.Context, name string) (swarm.BusCredentials, error)
	RemoveBusUser(ctx context.Context, name string) error
	SetBridge(ctx context.Context, session string, allowed bool) error
	WithdrawBridge(ctx context.Context, session string) error
}

var _ Session = (*swarm.Remote)(nil)

// Open connects to the process that runs a session, or else reads the session's files.
// The caller closes the session.
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
	return storedSession{v, info}, false, nil
}

// storedSession is a session that no process runs. It is read from its files, and
// changed there.
type storedSession struct {
	swarm.View
	info swarm.Info
}

// Agents explains, in an error, what to do about a session whose owner does not answer.
func (s storedSession) Agents(ctx context.Context) ([]actors.Status, error) {
	all, err := s.View.Agents(ctx)
	return all, s.explainBusy(err)
}

// Agent explains, in an error, what to do about a session whose owner does not answer.
func (s storedSession) Agent(ctx context.Context, name string) (actors.Status, error) {
	a, err := s.View.Agent(ctx, name)
	return a, s.explainBusy(err)
}

// explainBusy adds to an error what to do about a session whose owner does not answer.
func (s storedSession) explainBusy(err error) error {
	if errors.Is(err, swarm.ErrOpen) {
		return fmt.Errorf("session %s is starting or about to end; try again: %w", s.info.ID, err)
	}
	return err
}

func (s storedSession) Bus(context.Context) (swarm.BusState, error) { return swarm.KeptBus(s.info) }

func (s storedSession) AddBusUser(ctx context.Context, name string) (swarm.BusCredentials, error) {
	return swarm.AddBusUser(ctx, s.info, name)
}

func (s storedSession) RemoveBusUser(ctx context.Context, name string) error {
	return swarm.RemoveBusUser(ctx, s.info, name)
}

func (s storedSession) SetBridge(ctx context.Context, session string, allowed bool) error {
	return swarm.SetBridge(ctx, s.info, session, allowed)
}

func (s storedSession) WithdrawBridge(ctx context.Context, session string) error {
	return swarm.WithdrawBridge(ctx, s.info, session)
}
