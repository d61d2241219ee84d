package swarm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/nats-io/nats.go"
)

// handle answers the owner, each request in a goroutine of its own.
func (n *Node) handle(m *nats.Msg) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.work.Go(func() {
		verb := m.Subject[len(nodeSubject(n.info.ID, n.o.Agent, "do", "")):]
		var c nodeCall
		out, err := nodeReply{}, json.Unmarshal(m.Data, &c)
		if err == nil {
			out, err = n.do(verb, c)
		}
		out.refuse(err)
		raw, err := json.Marshal(out)
		if err == nil {
			err = errors.Join(respondInParts(n.conn, m, raw), n.conn.FlushTimeout(askNodeWithin))
		}
		if err != nil {
			n.session.opts.Logger.Warn("the session's owner could not be answered", "verb", verb, "error", err)
		}
		if verb == "stop" || verb == "kill" || verb == "quit" {
			n.end(verb)
		}
	})
}

func (n *Node) end(why string) {
	select {
	case n.leave <- why:
	default:
	}
}

func (n *Node) do(verb string, c nodeCall) (nodeReply, error) {
	ctx := n.session.scope
	switch verb {
	case "stop", "kill":
		return n.stop(c.Ending, causeOf(verb, c))
	case "stop-below", "kill-below":
		ended, err := n.session.agents.StopTree(ctx, mailbox.AgentID(c.Name), causeOf(verb, c))
		return nodeReply{Ended: ended}, err
	case "wake-below":
		return nodeReply{}, n.wakeBelow(c)
	case "interrupt-below":
		if id := mailbox.AgentID(c.Name); n.session.runs(id) {
			n.session.agents.Interrupt(id)
		}
		return nodeReply{}, nil
	case "bg-below":
		return nodeReply{}, n.session.agents.Background(mailbox.AgentID(c.Name))
	case "compact-below":
		return nodeReply{}, n.session.agents.Compact(ctx, mailbox.AgentID(c.Name))
	case "plan":
		if c.Plan == nil {
			return nodeReply{}, errNoAnswer
		}
		return n.decidePlan(c)
	case "interrupt":
		n.Interrupt()
		return nodeReply{}, nil
	case "compact":
		return nodeReply{}, n.session.agents.Compact(ctx, n.id)
	case "answer":
		if c.Answer == nil {
			return nodeReply{}, errNoAnswer
		}
		return nodeReply{}, n.session.agents.Answer(c.Name, *c.Answer)
	case lookStaff, lookInbox, lookMail:
		sight, err := record{n.session.store, n.session.agents}.look(n.id, verb, c.Name)
		return nodeReply{Sight: &sight}, err
	case "quiet":
		quiet, moves := n.session.agents.IsQuiet()
		return nodeReply{Quiet: quiet, Moves: moves}, nil
	case "quit":
		return nodeReply{}, nil
	}
	return nodeReply{}, fmt.Errorf("there is no request %q to a node", verb)
}

// wakeBelow wakes an agent below the node's. Who does it is made known here, so that
// it can be told of the end.
func (n *Node) wakeBelow(c nodeCall) error {
	t, ok := n.session.store.Get(mailbox.AgentID(c.Name))
	if !ok {
		return &actors.UnknownAgentError{Name: c.Name}
	}
	if c.Spec != nil {
		if _, err := n.session.agents.Meet(*c.Spec); err != nil {
			return err
		}
	}
	return n.session.agents.Wake(t, c.By)
}

// stop ends the agent of the node, and all others that live in this process, which
// ends with it.
func (n *Node) stop(by *protocol.Shutdown, cause error) (nodeReply, error) {
	if err := n.leaveBy(by); err != nil {
		return nodeReply{}, err
	}
	if err := (record{n.session.store, n.session.agents}).end(n.session.scope, n.id, cause); err != nil {
		return nodeReply{}, err
	}
	return nodeReply{Life: n.sight().Life}, nil
}

// causeOf is why an agent is ended: the owner's words, as if they had been given here.
func causeOf(verb string, c nodeCall) error {
	if strings.HasPrefix(verb, "kill") {
		return turn.ErrKilled
	}
	return &saidError{text: c.Cause, is: turn.ErrStopped}
}

// decidePlan takes a decision about the agent's plan that somebody has made with
// the session's owner, which answers for who it was.
func (n *Node) decidePlan(c nodeCall) (nodeReply, error) {
	me, ok := n.session.store.Get(n.id)
	if !ok {
		return nodeReply{}, &actors.UnknownAgentError{Name: n.o.Agent}
	}
	by, ok := n.session.agents.Find(string(c.By))
	if !ok {
		return nodeReply{}, &actors.UnknownAgentError{Name: string(c.By)}
	}
	err := n.session.agents.DecidePlan(by, me, *c.Plan, c.Key)
	return nodeReply{Life: n.sight().Life}, err
}

// leaveBy records that the agent ends by a shutdown, if it does: who asked for
// it is told by the session's owner.
func (n *Node) leaveBy(s *protocol.Shutdown) error {
	me, ok := n.session.store.Get(n.id)
	if s == nil || !ok {
		return nil
	}
	_, _, err := me.ShutdownNext(protocol.Ask{ID: s.ID, By: s.By, Reason: s.Reason, Now: time.Now()}, nil)
	return err
}

// saidError is an error of another process.
type saidError struct {
	text string
	is   error
}

func (e *saidError) Error() string { return e.text }

func (e *saidError) Unwrap() error { return e.is }
