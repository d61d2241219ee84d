package swarm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// lookup looks into the record of an agent that keeps its own.
type lookup func(host mailbox.AgentID, what, name string) (nodeSight, error)

// below are the agents that live in the processes of others, and are on record
// there alone.
type below struct {
	record // of the session
	look   lookup
}

func (n *nodes) below() below {
	return below{record{n.s.store, n.s.agents}, func(id mailbox.AgentID, what, name string) (nodeSight, error) {
		if what == lookStaff {
			return nodeSight{Staff: n.Staff(id)}, nil
		}
		return n.look(n.s.scope, id, what, name)
	}}
}

func (k *kept) below(ctx context.Context, info Info) below {
	return below{record{k.store, k.agents}, func(id mailbox.AgentID, what, name string) (nodeSight, error) {
		return lookInto(ctx, info, id, what, name)
	}}
}

func (b below) all() (all []actors.Status) {
	b.each(func(_ mailbox.AgentID, s actors.Status) { all = append(all, s) })
	return all
}

// each calls f with every agent and in whose process it lives, in the order of the hosts.
func (b below) each(f func(host mailbox.AgentID, s actors.Status)) {
	ids := hosts(b.store)
	seen := lookAll(ids, func(id mailbox.AgentID) (nodeSight, error) { return b.look(id, lookStaff, "") })
	for _, id := range ids {
		for _, s := range seen[id].Staff {
			f(id, s)
		}
	}
}

// find returns the agent that a name, an id or team/name means, and in whose process
// it lives. unknown is why nobody else is meant. One that has ended counts only if
// nobody else has the name.
func (b below) find(name string, unknown error) (found actors.Status, host mailbox.AgentID, err error) {
	if !team.IsUnknown(unknown) {
		return found, "", unknown
	}
	var names []string
	ambiguous := &actors.AmbiguousNameError{Name: name}
	b.each(func(at mailbox.AgentID, s actors.Status) {
		if !s.Life.Closed {
			names = append(names, agent.DisplayName(s.Life.Spec))
		}
		if !b.means(name, s.Life.Spec) {
			return
		}
		switch {
		case host == "", found.Life.Closed && !s.Life.Closed:
			found, host, ambiguous.Teams = s, at, nil
		case s.Life.Closed && !found.Life.Closed:
			return
		case s.Life.Closed:
			found, host = s, at // who had it last
			return
		}
		ambiguous.Teams = append(ambiguous.Teams, b.agents.Home(s.Life.Spec).Name)
	})
	switch {
	case host == "":
		return found, "", withKnown(unknown, names)
	case len(ambiguous.Teams) > 1:
		return found, "", ambiguous
	}
	return found, host, nil
}

// withKnown adds names to those that an error says are known.
func withKnown(err error, names []string) error {
	var unknown *agent.UnknownError
	if !errors.As(err, &unknown) || len(names) == 0 {
		return err
	}
	known := slices.Sorted(slices.Values(slices.Concat(unknown.Known, names)))
	return &agent.UnknownError{Name: unknown.Name, Known: known, Near: agent.Near(unknown.Name, known)}
}

func (b below) means(name string, s agent.Spec) bool {
	in, member, ok := strings.Cut(name, "/")
	if !ok {
		name = strings.TrimPrefix(name, "@")
		return string(s.ID) == name || s.Name != "" && strings.EqualFold(s.Name, name)
	}
	return b.means(member, s) && slices.ContainsFunc(b.agents.Teams(s), func(m agent.Membership) bool { return m.Is(in) })
}

// Find implements team.Apart.
func (b below) Find(name string, unknown error) (agent.Record, error) {
	s, _, err := b.find(name, unknown)
	return s.Life, err
}

// Find implements team.Apart.
func (n *nodes) Find(name string, unknown error) (agent.Record, error) {
	return n.below().Find(name, unknown)
}

// All implements team.Apart.
func (n *nodes) All() ([]actors.Status, error) { return unkilled(n.staff(n.final()...)), nil }

// final returns the agents with processes of their own that have ended for good.
func (n *nodes) final() []mailbox.AgentID {
	return slices.DeleteFunc(hosts(n.s.store), func(id mailbox.AgentID) bool {
		t, ok := n.s.store.Get(id)
		return !ok || !actors.Final(t.Life())
	})
}

func unkilled(all []actors.Status) []actors.Status {
	return slices.DeleteFunc(all, func(s actors.Status) bool { return s.Life.Closed && s.Life.Reason == turn.ErrKilled.Error() })
}

// Wake implements team.Apart. The process of a host that has none is started again
// and finds the message.
func (n *nodes) Wake(to agent.Record, by mailbox.AgentID) error { return n.wakeBelow(to, by, nil) }

// wakeBelow is Wake by an agent that may be on record neither here nor there: then
// spec says who it is.
func (n *nodes) wakeBelow(to agent.Record, by mailbox.AgentID, spec *agent.Spec) error {
	id := to.Spec.ID
	_, host, err := n.below().find(string(id), &agent.UnknownError{Name: string(id)})
	if err != nil {
		return err
	}
	if n.known(host) != nil {
		ctx, cancel := context.WithTimeout(n.s.scope, askNodeWithin)
		defer cancel()
		_, err = askWorker(ctx, n, host, doWakeBelow, wakeIn{Name: string(id), By: by, Spec: spec})
		if errors.Is(err, context.DeadlineExceeded) && !to.Closed {
			return nil // it reads the message when its process goes on, or that is answered for
		}
		return err
	}
	switch t, ok := n.s.store.Get(host); {
	case ok && actors.Final(t.Life()):
		return &actors.FinalError{Name: agent.DisplayName(to.Spec), Reason: t.Life().Reason}
	case !ok || t.Life().Closed || to.Closed:
		return n.noProcess(to, host)
	}
	n.s.agents.Rouse(host)
	return nil
}

// askBelow puts a request about an agent to the process that it lives in. unknown is
// the error if there is no such agent.
func (n *nodes) askBelow(ctx context.Context, name string, method rpc.Method[nameIn, rpc.None], unknown error) (actors.Status, error) {
	if n == nil {
		return actors.Status{}, unknown
	}
	a, host, err := n.below().find(name, unknown)
	if err != nil {
		return a, err
	}
	if n.known(host) == nil {
		return a, n.noProcess(a.Life, host)
	}
	_, err = askWorker(ctx, n, host, method, nameIn{Name: string(a.Life.Spec.ID)})
	return a, err
}

// noProcess is why nothing can be done about an agent now.
func (n *nodes) noProcess(l agent.Record, host mailbox.AgentID) error {
	return &NoProcessError{Name: agent.DisplayName(l.Spec), Host: displayNameIn(n.s.store, host)}
}

func displayNameIn(store *transcript.Store, id mailbox.AgentID) string {
	if t, ok := store.Get(id); ok {
		return agent.DisplayName(t.Spec())
	}
	return string(id)
}

// NoProcessError reports an agent that lives in the process of another one, which
// does not run.
type NoProcessError struct{ Name, Host string }

func (e *NoProcessError) Error() string {
	return fmt.Sprintf("%s lives in the process of %s, which does not run; a message to %s starts it", e.Name, e.Host, e.Host)
}

// owesBelow reports mail on its way to an agent in the process of another that is
// to read it.
func (n *nodes) owesBelow() bool {
	pending := n.s.store.Pending()
	n.mu.Lock()
	defer n.mu.Unlock()
	for host, staff := range n.staffs {
		for _, s := range staff {
			to := func(e mailbox.Envelope) bool { return e.To.Agent == s.Life.Spec.ID }
			if n.seats[host] != nil && !s.Life.Closed && slices.ContainsFunc(pending, to) {
				return true
			}
		}
	}
	return false
}

// keptApart are the agents below others of a session that does not run.
type keptApart struct{ below }

// All implements team.Apart.
func (k keptApart) All() ([]actors.Status, error) { return unkilled(k.all()), nil }

// Wake implements team.Apart. What keeps its own record goes on by itself when the
// session does, unless it has ended.
func (k keptApart) Wake(to agent.Record, _ mailbox.AgentID) error {
	_, host, err := k.find(string(to.Spec.ID), &agent.UnknownError{Name: string(to.Spec.ID)})
	if err != nil {
		return err
	}
	if t, ok := k.store.Get(host); !ok || t.Life().Closed || to.Closed {
		return &NoProcessError{Name: agent.DisplayName(to.Spec), Host: displayNameIn(k.store, host)}
	}
	return nil
}

// Agent returns a look at one agent, by name, team/name or id.
func (s *Session) Agent(name string) (actors.Status, error) {
	t, err := s.roster.Find(name)
	switch {
	case err == nil:
		return statusIn(s.Agents(), t.ID())
	case s.nodes == nil:
		return actors.Status{}, err
	}
	a, _, err := s.nodes.below().find(name, err)
	return a, err
}

// PeekAgent is Session.Agent for a session that does not run.
func PeekAgent(ctx context.Context, info Info, name string) (a actors.Status, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return actors.Status{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	t, err := team.NewRoster(k.agents).Find(name)
	if err == nil {
		return statusIn(k.agents.Status(), t.ID())
	}
	a, _, err = k.below(ctx, info).find(name, err)
	return a, err
}

// statusIn returns the agent of an id, "" for the first.
func statusIn(all []actors.Status, id mailbox.AgentID) (actors.Status, error) {
	for _, a := range all {
		if id == "" || a.Life.Spec.ID == id {
			return a, nil
		}
	}
	return actors.Status{}, &agent.UnknownError{Name: string(id)}
}
