package archive

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Query queries the record of an agent that has a process of its own about a subject:
// QueryNested, QueryInbox or QueryMail.
type Query func(host mailbox.AgentID, what, name string) (Snapshot, error)

// Tree is all agents of a session: those of its own record, and those nested in the
// processes of agents, which are on record only there.
type Tree struct {
	Record
	Query Query // nil if no agent is nested
}

func (t Tree) hosts() []mailbox.AgentID {
	if t.Query == nil {
		return nil
	}
	return Hosts(t.Store)
}

// Nested returns the agents that live in the processes of others, in the order of
// the hosts.
func (t Tree) Nested() (all []actors.Status) {
	t.each(func(_ mailbox.AgentID, s actors.Status) { all = append(all, s) })
	return all
}

// each calls f with every nested agent and the agent in whose process it lives.
func (t Tree) each(f func(host mailbox.AgentID, s actors.Status)) {
	hosts := t.hosts()
	seen := Each(hosts, func(id mailbox.AgentID) (Snapshot, error) { return t.Query(id, QueryNested, "") })
	for _, id := range hosts {
		for _, s := range seen[id].Nested {
			f(id, s)
		}
	}
}

// Find returns the nested agent with a name, an id or team/name, and the agent in whose
// process it lives. unknown is the error of the same lookup in the session's own record.
// An agent that has ended is found only if no other has the name.
func (t Tree) Find(name string, unknown error) (found actors.Status, host mailbox.AgentID, err error) {
	if !team.IsUnknown(unknown) {
		return found, "", unknown
	}
	var names []string
	ambiguous := &actors.AmbiguousNameError{Name: name}
	t.each(func(at mailbox.AgentID, s actors.Status) {
		if !s.Record.Closed {
			names = append(names, agent.DisplayName(s.Record.Spec))
		}
		if !t.means(name, s.Record.Spec) {
			return
		}
		switch {
		case host == "", found.Record.Closed && !s.Record.Closed:
			found, host, ambiguous.Teams = s, at, nil
		case s.Record.Closed && !found.Record.Closed:
			return
		case s.Record.Closed:
			found, host = s, at // the last one that had the name
			return
		}
		ambiguous.Teams = append(ambiguous.Teams, t.Agents.Home(s.Record.Spec).Name)
	})
	switch {
	case host == "":
		return found, "", withKnown(unknown, names)
	case len(ambiguous.Teams) > 1:
		return found, "", ambiguous
	}
	return found, host, nil
}

// withKnown adds names to the known ones of an UnknownError.
func withKnown(err error, names []string) error {
	var unknown *agent.UnknownError
	if !errors.As(err, &unknown) || len(names) == 0 {
		return err
	}
	known := slices.Sorted(slices.Values(slices.Concat(unknown.Known, names)))
	return &agent.UnknownError{Name: unknown.Name, Known: known, Suggestions: agent.Suggest(unknown.Name, known)}
}

func (t Tree) means(name string, s agent.Spec) bool {
	in, member, ok := strings.Cut(name, "/")
	if !ok {
		name = strings.TrimPrefix(name, "@")
		return string(s.ID) == name || s.Name != "" && strings.EqualFold(s.Name, name)
	}
	return t.means(member, s) && slices.ContainsFunc(t.Agents.Teams(s), func(m agent.Membership) bool { return m.Is(in) })
}

// Inbox is [Record.Inbox] for an agent that may live in another process.
func (t Tree) Inbox(name string) ([]mailbox.Trace, error) {
	a, err := roster.New(t.Agents).Find(name)
	host, id := mailbox.AgentID(""), mailbox.AgentID("")
	switch {
	case err == nil && (!a.IsReplica() || t.Query == nil):
		return t.Record.Inbox(name)
	case err == nil:
		host, id = a.ID(), a.ID()
	default:
		nested, at, err := t.Find(name, err)
		if err != nil {
			return nil, err
		}
		host, id = at, nested.Record.Spec.ID
	}
	seen, err := t.Query(host, QueryInbox, string(id))
	if err != nil {
		return nil, err
	}
	return mailbox.AppendPending(seen.Inbox, t.Store.Pending(), id), nil
}

// Message returns a message and all that became of it, from the records of its sender and
// its receiver, here or in processes of their own. The error is an
// *mailbox.UnknownMessageError if there is no such message.
func (t Tree) Message(id mailbox.ID) (mailbox.Trace, error) {
	others := Each(t.hosts(), func(host mailbox.AgentID) (Snapshot, error) { return t.Query(host, QueryMail, string(id)) })
	sent, got, err := t.Store.Trace(id)
	if err != nil {
		return mailbox.Trace{}, err
	}
	for _, o := range others {
		sent, got = cmp.Or(sent, o.Sent), cmp.Or(got, o.Got)
	}
	switch {
	case sent == nil:
		return mailbox.Trace{}, &mailbox.UnknownMessageError{ID: id}
	case got != nil:
		return sent.Merge(*got), nil
	}
	return *sent, nil
}

// DisplayName returns the name of an agent of the session's own record, by id.
func (t Tree) DisplayName(id mailbox.AgentID) string {
	if a, ok := t.Store.Get(id); ok {
		return agent.DisplayName(a.Spec())
	}
	return string(id)
}

// NotKilled returns the agents that were not killed.
func NotKilled(all []actors.Status) []actors.Status {
	return slices.DeleteFunc(all, func(s actors.Status) bool { return s.Record.Closed && s.Record.Reason == turn.ErrKilled.Error() })
}

// StatusOf returns the agent of an id; "" is the first.
func StatusOf(all []actors.Status, id mailbox.AgentID) (actors.Status, error) {
	for _, a := range all {
		if id == "" || a.Record.Spec.ID == id {
			return a, nil
		}
	}
	return actors.Status{}, &agent.UnknownError{Name: string(id)}
}
