package swarm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/agent"
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
		if err != nil {
			out.Error = err.Error()
		}
		raw, err := json.Marshal(out)
		if err == nil {
			err = errors.Join(m.Respond(raw), n.conn.FlushTimeout(askNodeWithin))
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
		// The owner's words are the cause, as if it had been given here.
		var cause error = agent.ErrKilled
		if verb == "stop" {
			cause = &saidError{text: c.Cause, is: agent.ErrStopped}
		}
		if err := n.session.agents.Stop(ctx, n.id, cause); err != nil {
			return nodeReply{}, err
		}
		return nodeReply{Life: n.sight().Life}, nil
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
	case "quiet":
		quiet, moves := n.session.agents.IsQuiet()
		return nodeReply{Quiet: quiet, Moves: moves}, nil
	case "quit":
		return nodeReply{}, nil
	}
	return nodeReply{}, fmt.Errorf("there is no request %q to a node", verb)
}

// saidError is an error of another process.
type saidError struct {
	text string
	is   error
}

func (e *saidError) Error() string { return e.text }

func (e *saidError) Unwrap() error { return e.is }
