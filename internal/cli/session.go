package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// Session is a session as a command looks at it, whether a process runs it or not.
type Session interface {
	Agents(ctx context.Context) ([]actors.Status, error)
	Agent(ctx context.Context, name string) (actors.Status, error)
	Inbox(ctx context.Context, name string) ([]swarm.Trace, error)
	Message(ctx context.Context, id mailbox.ID) (swarm.Trace, error)
	SendClass(ctx context.Context, to, text string, class mailbox.Class) ([]team.Posted, error)
	Tasks(ctx context.Context) ([]board.Task, error)
	Teams(ctx context.Context) ([]team.Team, error)
	Team(ctx context.Context, name string) (team.Status, error)
	Bus(ctx context.Context) (swarm.BusState, error)
	AddBusUser(ctx context.Context, name string) (swarm.BusCredentials, error)
	RemoveBusUser(ctx context.Context, name string) error
	SetBridge(ctx context.Context, session string, allowed bool) error
	WithdrawBridge(ctx context.Context, session string) error
	Close()
}

var _ Session = (*swarm.Remote)(nil)

// Open reaches the process that runs a session, or else reads what is kept of it. The
// caller closes it.
func (s Sessions) Open(info swarm.Info) (session Session, running bool, err error) {
	r, err := s.Dial(info)
	switch {
	case err == nil:
		return r, true, nil
	case NotRunning(err):
		return stopped{info}, false, nil
	}
	return nil, false, err
}

// stopped is a session that no process runs: everything is read from its files, and
// changed there.
type stopped struct{ info swarm.Info }

func (s stopped) Agents(ctx context.Context) ([]actors.Status, error) {
	all, _, err := swarm.Peek(ctx, s.info)
	return all, s.busy(err)
}

func (s stopped) Agent(ctx context.Context, name string) (actors.Status, error) {
	a, err := swarm.PeekAgent(ctx, s.info, name)
	return a, s.busy(err)
}

// busy says what to do about a session whose owner does not answer yet, or any more.
func (s stopped) busy(err error) error {
	if errors.Is(err, swarm.ErrOpen) {
		return fmt.Errorf("session %s is starting or about to end; try again: %w", s.info.ID, err)
	}
	return err
}

func (s stopped) Inbox(ctx context.Context, name string) ([]swarm.Trace, error) {
	return swarm.PeekInbox(ctx, s.info, name)
}

func (s stopped) Message(ctx context.Context, id mailbox.ID) (swarm.Trace, error) {
	return swarm.PeekMessage(ctx, s.info, id)
}

func (s stopped) SendClass(ctx context.Context, to, text string, class mailbox.Class) ([]team.Posted, error) {
	return swarm.PostClass(ctx, s.info, to, text, class)
}

func (s stopped) Tasks(context.Context) ([]board.Task, error) { return swarm.KeptTasks(s.info) }

func (s stopped) Teams(ctx context.Context) ([]team.Team, error) {
	return swarm.PeekTeams(ctx, s.info)
}

func (s stopped) Team(ctx context.Context, name string) (team.Status, error) {
	return swarm.PeekTeam(ctx, s.info, name)
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

func (stopped) Close() {}
