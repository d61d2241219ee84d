package swarm

import (
	"context"
	"os"

	"github.com/actorswarm/swarm/internal/journal"
)

// ErrOpen is the cause when a session is open in another process already: a
// session has one owner.
var ErrOpen = journal.ErrLocked

// Ready returns when other processes can reach the session through Dial, or
// with what kept it from that.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.wire.Served(ctx)
	return err
}

// Wait returns when the session ends by itself, as it does when its journal
// fails, or ctx ends, with the cause.
func (s *Session) Wait(ctx context.Context) error {
	select {
	case <-s.scope.Done():
		return context.Cause(s.scope)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Quitting is closed when another process has asked for the end of the session.
// Its owner then closes it.
func (s *Session) Quitting() <-chan struct{} { return s.quitting }

func (s *Session) askToQuit() { s.quit.Do(func() { close(s.quitting) }) }

// Welcome is what those who join a running session get to know first.
type Welcome struct {
	Info  Info        `json:"info"`
	PID   int         `json:"pid"` // of the process that runs the session
	Last  Exchange    `json:"last"`
	Types []AgentType `json:"types"` // that agents can be started with
}

// AgentType is what a definition says to people.
type AgentType struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color,omitempty"`
}

// Types returns the types of agents that can be started.
func (s *Session) Types() []AgentType {
	var all []AgentType
	for _, d := range s.Definitions().Active {
		all = append(all, AgentType{Name: d.Name, Description: d.Description, Color: d.Color})
	}
	return all
}

func (s *Session) welcome() (Welcome, error) {
	last, err := s.LastExchange()
	return Welcome{Info: s.Info(), PID: os.Getpid(), Last: last, Types: s.Types()}, err
}
