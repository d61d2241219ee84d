package swarm

import (
	"context"
	"errors"
	"log/slog"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// kept is a session that nobody runs, opened for its files alone: no agent
// lives and no message travels.
type kept struct {
	store  *transcript.Store
	bus    event.Bus
	agents *actors.Coordinator
}

func openKept(ctx context.Context, info Info, o transcript.Options) (*kept, error) {
	return openRecord(ctx, info, info.Path, o, nil)
}

// openRecord is openKept for one of the journals of a session, in dir. What becomes of
// mail there is told to receipt, which may be nil.
func openRecord(ctx context.Context, info Info, dir string, o transcript.Options, receipt func(mailbox.Receipt)) (*kept, error) {
	prices, err := node.ReadPrices(info.StateDir())
	if err != nil {
		return nil, err
	}
	store, err := transcript.Open(ctx, dir, info.ID, o)
	if err != nil {
		return nil, err
	}
	k := &kept{store: store}
	k.agents = actors.New(actors.Options{
		Store: store, Policy: spawn.Policy{Team: node.OwnTeam(info.ID)}, Events: &k.bus, Prices: prices, Receipt: receipt,
		Logger: slog.New(slog.DiscardHandler),
	})
	return k, nil
}

func (k *kept) close() error {
	k.bus.Close()
	return k.store.Close()
}

// Peek looks at the agents of a session that does not run, oldest first, and
// returns what was found out of order in its files, which it does not touch. Messages that are still on
// their way count as unread. A session that runs is
// looked at through Dial; here its journal is locked and Peek says by whom.
func Peek(ctx context.Context, info Info) (all []actors.Status, notes []string, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return nil, nil, err
	}
	coming := map[mailbox.AgentID]int{}
	for _, e := range k.store.Pending() {
		coming[e.To.Agent]++
	}
	all, notes = k.agents.Status(), k.store.Notes()
	for i := range all {
		all[i].Unread += coming[all[i].Life.Spec.ID]
	}
	return actors.Complete(append(all, k.below(ctx, info).all()...)), notes, k.close()
}

// PostClass writes a message of a class from the user to an agent of a session that
// does not run, or with "*" to all. It returns when the message is on disk; the
// agent reads it when the session goes on.
func PostClass(ctx context.Context, info Info, to, text string, c mailbox.Class) (posted []team.Posted, err error) {
	k, err := openKept(ctx, info, transcript.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	user, ok := k.store.Get(agent.UserID)
	if !ok {
		return nil, errNoOutbox
	}
	roster := team.NewRoster(k.agents)
	roster.ConnectApart(keptApart{k.below(ctx, info)})
	return roster.Send(user, team.Letter{To: to, Text: text, Class: c})
}

var errNoOutbox = errors.New("the session has no outbox for the user yet; give it a prompt first: swarm resume ID PROMPT")
