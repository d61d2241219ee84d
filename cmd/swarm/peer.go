package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
)

// sessions returns the sessions of a directory, newest first.
func (a *app) sessions(dir string) ([]swarm.Info, error) {
	state, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	return swarm.Sessions(state, dir)
}

// dial reaches the process that runs a session. Its error is a
// *swarm.NotRunningError when there is none.
func (a *app) dial(info swarm.Info) (*swarm.Remote, error) {
	state, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	// Without a socket nobody answers, and asking the bus would take longer.
	if _, err := os.Stat(info.Socket(state)); err != nil {
		return nil, &swarm.NotRunningError{ID: info.ID}
	}
	return swarm.Dial(state, info)
}

// agents returns the agents of a session, running or not.
func (a *app) agents(ctx context.Context, info swarm.Info) (all []actors.Status, running bool, err error) {
	r, err := a.dial(info)
	if err == nil {
		defer r.Close()
		all, err = r.Agents(ctx)
		return all, true, err
	}
	if !notRunning(err) {
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

func notRunning(err error) bool {
	var none *swarm.NotRunningError
	return errors.As(err, &none)
}

// choose returns the session that a command is about: the one with the id, or
// the one session of the directory that runs, or the newest that does not.
func (a *app) choose(dir, id string) (swarm.Info, error) {
	if id != "" {
		return a.find(dir, id)
	}
	all, err := a.sessions(dir)
	if err != nil {
		return swarm.Info{}, err
	}
	running := a.running(all)
	switch {
	case len(running) == 1:
		return running[0], nil
	case len(running) > 1:
		return swarm.Info{}, cli.Usagef("%d sessions run here; name one of: %s", len(running), strings.Join(ids(running), ", "))
	}
	return a.find(dir, "")
}

func (a *app) running(all []swarm.Info) []swarm.Info {
	var running []swarm.Info
	for _, info := range all {
		if r, err := a.dial(info); err == nil {
			r.Close()
			running = append(running, info)
		}
	}
	return running
}

func ids(all []swarm.Info) []string {
	var out []string
	for _, info := range all {
		out = append(out, info.ID)
	}
	return out
}
