package swarm

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/session"
)

// newPeers returns what passes mail to and from other sessions, which does not run yet.
func (s *Session) newPeers() *peer.Service {
	return peer.New(s.scope, peer.Options{
		Record: s.record, StateDir: s.opts.StateDir, Store: s.store, Agents: s.agents, Members: s.members,
		Lead: s.lead.Get, Post: s.postMessage, Conn: s.wire.Conn, Forged: turn.CheckForeign, Warn: s.node.Warn, Audit: s.audit.Note,
		NATS: s.opts.NATS.URL != "", Mode: s.opts.Mode, Inbound: s.opts.Inbound, InboundExpiry: s.opts.InboundExpiry, Logger: s.opts.Logger,
	})
}

// postMessage posts a message through the socket of a session of this machine.
func (s *Session) postMessage(ctx context.Context, session string, m peer.Message) (peer.Reply, error) {
	r, err := Dial(s.opts.StateDir, Info{ID: session})
	if err != nil {
		return peer.Reply{}, err
	}
	defer r.Close()
	out, err := rpc.Call(ctx, r.client, apiLetter, letterIn{&m})
	if err != nil || out.Letter == nil {
		return peer.Reply{}, errors.Join(err, errNoVerdict)
	}
	return *out.Letter, nil
}

var errNoVerdict = errors.New("the session did not say what became of the letter")

// SetBridge keeps whether messages may go to a session elsewhere. It returns when
// that is on disk.
func (s *Session) SetBridge(session string, allowed bool) error {
	return s.peers.Allow(session, allowed)
}

// WithdrawBridge forgets what was said about a session elsewhere: the user is
// asked again before the next message goes there.
func (s *Session) WithdrawBridge(session string) error {
	return s.record.Update(func(i *Info) error { return i.WithdrawBridge(session) })
}

// SetBridge is Session.SetBridge for a session that does not run.
func SetBridge(ctx context.Context, info Info, session string, allowed bool) error {
	return changeKept(ctx, info, func(i *Info) error { return i.SetBridge(session, allowed) })
}

// WithdrawBridge is Session.WithdrawBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i *Info) error { return i.WithdrawBridge(session) })
}

// changeKept writes the file of a session that nobody runs, and keeps others from
// running it meanwhile.
func changeKept(ctx context.Context, info Info, change func(*Info) error) (err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	if _, err := rest.Coordinator(ctx); err != nil {
		return err
	}
	now, err := session.Read(info.Path) // it may have run since
	if err != nil {
		return err
	}
	return session.NewFile(now).Update(change)
}
