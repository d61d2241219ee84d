package swarm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// record is what one journal holds of agents and their mail.
type record struct {
	store  *transcript.Store
	agents *actors.Coordinator
}

// staff returns the agents that an agent in a process of its own has there
// besides itself.
func (r record) staff(host mailbox.AgentID) []actors.Status {
	return slices.DeleteFunc(r.agents.Status(), func(s actors.Status) bool {
		return s.Life.Spec.Where != "" || s.Life.Spec.ID == host || !s.Life.Spec.Role.Runs()
	})
}

func (r record) inbox(name string) ([]Trace, error) {
	return inbox(r.store, team.NewRoster(r.agents), name)
}

// nodeSight is an answer to one of looks.
type nodeSight struct {
	Staff []actors.Status `json:"staff,omitempty"`
	Inbox []Trace         `json:"inbox,omitempty"`
	Sent  *Trace          `json:"sent,omitempty"` // as its sender sees it
	Got   *Trace          `json:"got,omitempty"`  // as its receiver sees it
}

// What can be looked for in the record of an agent in a process of its own.
const (
	lookStaff = "staff"
	lookInbox = "inbox" // of an agent, by id
	lookMail  = "mail"  // a message, by id
)

func (r record) look(host mailbox.AgentID, what, name string) (out nodeSight, err error) {
	switch what {
	case lookStaff:
		out.Staff = r.staff(host)
	case lookInbox:
		out.Inbox, err = r.inbox(name)
	case lookMail:
		out.Sent, out.Got, err = mailIn(r.store, mailbox.ID(name))
	}
	return out, err
}

// hosts are the agents of a store that keep records of their own.
func hosts(store *transcript.Store) []mailbox.AgentID {
	var ids []mailbox.AgentID
	for _, t := range store.All() {
		if w := t.Spec().Where; w == agent.InTmux || w == agent.InProcess {
			ids = append(ids, t.ID())
		}
	}
	return ids
}

func nodeDir(session string, id mailbox.AgentID) string {
	return filepath.Join(session, "nodes", string(id))
}

// lookInto reads the record of an agent whose process does not run. One that has
// none yet holds nothing.
func lookInto(ctx context.Context, info Info, host mailbox.AgentID, what, name string) (out nodeSight, err error) {
	dir := nodeDir(info.Path, host)
	if !isDir(filepath.Join(dir, "journal")) {
		return out, nil
	}
	k, err := openRecord(ctx, info, dir, transcript.Options{ReadOnly: true}, nil)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	return record{k.store, k.agents}.look(host, what, name)
}

// lookAll looks into the records of several agents at once. What cannot be read
// is left out: it is a part of the whole.
func lookAll(ids []mailbox.AgentID, look func(id mailbox.AgentID) (nodeSight, error)) map[mailbox.AgentID]nodeSight {
	var mu sync.Mutex
	var group sync.WaitGroup
	all := map[mailbox.AgentID]nodeSight{}
	for _, id := range ids {
		group.Go(func() {
			if out, err := look(id); err == nil {
				mu.Lock()
				defer mu.Unlock()
				all[id] = out
			}
		})
	}
	group.Wait()
	return all
}

// lookWithin is how long the process of an agent may take to say what it has on
// record.
const lookWithin = time.Second

// look looks into the record of an agent: by its process or, when that is gone, as
// it stands.
func (n *nodes) look(ctx context.Context, id mailbox.AgentID, what, name string) (nodeSight, error) {
	if n.known(id) == nil {
		return lookInto(ctx, n.s.Info(), id, what, name)
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	out, err := askWorker(ctx, n, id, doQuery(what), nameIn{Name: name})
	if err != nil || out.Sight == nil {
		return nodeSight{}, err
	}
	return *out.Sight, nil
}

func (n *nodes) lookAll(what, name string) map[mailbox.AgentID]nodeSight {
	return lookAll(hosts(n.s.store), func(id mailbox.AgentID) (nodeSight, error) {
		return n.look(n.s.scope, id, what, name)
	})
}

// staff returns the agents below those that have a process of their own, but for some
// of these.
func (n *nodes) staff(but ...mailbox.AgentID) []actors.Status {
	ids := slices.DeleteFunc(hosts(n.s.store), func(id mailbox.AgentID) bool { return slices.Contains(but, id) })
	seen := lookAll(ids, func(id mailbox.AgentID) (nodeSight, error) { return nodeSight{Staff: n.Staff(id)}, nil })
	var all []actors.Status
	for _, id := range ids {
		all = append(all, seen[id].Staff...)
	}
	return all
}

// Staff implements actors.Elsewhere. What a process has said is kept for as long as it
// is gone or does not answer.
func (n *nodes) Staff(id mailbox.AgentID) []actors.Status {
	kept := n.isKept(id)
	var now nodeSight
	var err error
	if !kept {
		now, err = n.look(n.s.scope, id, lookStaff, "")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !kept && err == nil {
		n.staffs[id] = now.Staff
	}
	return slices.Clone(n.staffs[id])
}

// isKept reports whether the staff of an agent is known that has no process.
func (n *nodes) isKept(id mailbox.AgentID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, kept := n.staffs[id]
	return kept && n.seats[id] == nil
}

// TranscriptPath returns the file with the conversation of an agent, which is there
// once it has worked. An agent in a process of its own keeps its record apart, with
// those of all below it.
func TranscriptPath(info Info, a actors.Status) string {
	spec := a.Life.Spec
	name := filepath.Join("transcripts", string(spec.ID)+".jsonl")
	path, home := filepath.Join(info.Path, name), "*"
	if spec.Where != "" {
		home = string(spec.ID)
	} else if _, err := os.Stat(path); err == nil {
		return path
	}
	if apart, err := filepath.Glob(filepath.Join(info.Path, "nodes", home, name)); err == nil && len(apart) > 0 {
		return apart[0]
	}
	return path
}
