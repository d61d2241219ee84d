package actors

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// callKey is a tool call: some providers use the ids of calls again in later
// answers, so the answer is part of it.
type callKey struct {
	parent mailbox.AgentID
	answer int // which of the parent's it is in; 0 = not recorded, as by older versions
	call   string
}

// bearer is an agent that has a name.
type bearer struct {
	id   mailbox.AgentID
	team string // in which it has the name: its first at birth
	free bool   // it has ended for good and another may have the name
}

// NameTakenError reports a spawn under a name that another agent has.
type NameTakenError struct {
	Name  string
	Owner mailbox.AgentID
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name %q belongs to agent %s: choose another, or send it a message", e.Name, e.Owner)
}

// reserve takes the agent's name and its place among the session's agents.
func (c *Coordinator) reserve(spec transcript.Spec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrShutDown
	}
	if limit := c.opts.Policy.MaxAgents; limit > 0 && c.made >= limit && spec.Role != transcript.Lead {
		return &spawn.LimitError{What: "agents", Max: limit}
	}
	for _, owner := range c.names[strings.ToLower(spec.Name)] {
		isID := strings.EqualFold(string(owner.id), spec.Name)
		if isID || owner.team == c.namespace(spec) && !owner.free {
			return &NameTakenError{Name: spec.Name, Owner: owner.id}
		}
	}
	c.indexLocked(spec)
	c.accounts.open(spec, time.Now())
	return nil
}

// index makes an agent known, and for whom it works.
func (c *Coordinator) index(l transcript.Life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexLocked(l.Spec)
	c.employLocked(l.Woken, l.Spec.ID)
	if l.Shutdown.Leaving() || l.Closed && l.Reason == turn.ErrKilled.Error() && len(l.Spec.Teams) == 0 && l.Spec.Teams != nil {
		c.releaseLocked(l.Spec)
	}
}

// employLocked notes that an agent works for another, by a tool call if there is
// one. mu is held.
func (c *Coordinator) employLocked(w transcript.Waking, id mailbox.AgentID) {
	if w.By != "" {
		if c.staff[w.By] == nil {
			c.staff[w.By] = map[mailbox.AgentID]struct{}{}
		}
		c.staff[w.By][id] = struct{}{}
	}
	if w.Call != "" {
		c.calls[callKey{w.By, w.Answer, w.Call}] = id
	}
}

func (c *Coordinator) indexLocked(spec transcript.Spec) {
	if _, known := c.names[string(spec.ID)]; !known {
		c.made++
		c.callLocked(string(spec.ID), spec)
		if name := strings.ToLower(spec.Name); name != "" && name != string(spec.ID) {
			c.callLocked(name, spec)
		}
	}
	c.employLocked(transcript.Waking{By: spec.Parent, Answer: spec.Answer, Call: spec.Call}, spec.ID)
}

func (c *Coordinator) callLocked(name string, s transcript.Spec) {
	c.names[name] = append(c.names[name], bearer{id: s.ID, team: c.namespace(s)})
}

// namespace is the team in which an agent has its name: two teams may each have
// somebody of a name.
func (c *Coordinator) namespace(s transcript.Spec) string {
	if teams := c.Teams(s); len(teams) > 0 {
		return teams[0].Team
	}
	return c.opts.Policy.Team
}

// release lets others have the name of an agent that has ended for good.
func (c *Coordinator) release(s transcript.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.releaseLocked(s)
}

func (c *Coordinator) releaseLocked(s transcript.Spec) {
	all := c.names[strings.ToLower(s.Name)]
	for i := range all {
		all[i].free = all[i].free || all[i].id == s.ID
	}
}

// retake gives an agent its name back.
func (c *Coordinator) retake(s transcript.Spec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.names[strings.ToLower(s.Name)]
	for i := range all {
		all[i].free = all[i].free && all[i].id != s.ID
	}
}

// Dismissed reports whether an agent has ended for good and given up its name.
func (c *Coordinator) Dismissed(s transcript.Spec) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.names[strings.ToLower(s.Name)], func(x bearer) bool { return x.id == s.ID && x.free })
}

// MadeBy returns the agent that a tool call of parent has made or woken, if it has. answer
// counts the parent's answers up to the one with the call.
func (c *Coordinator) MadeBy(parent mailbox.AgentID, answer int, call string) (mailbox.AgentID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, ok := c.calls[callKey{parent, answer, call}]
	if !ok {
		id, ok = c.calls[callKey{parent, 0, call}]
	}
	return id, ok
}

// Find returns the agent that a name or id means. Case is ignored. Of several
// with a name it is one of the session's team, else the oldest.
func (c *Coordinator) Find(name string) (*transcript.Transcript, bool) {
	all := c.Named(name)
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

// Named returns the agents that have a name or id: those of the session's team
// first; the last that has ended for good only if nobody else has the name.
func (c *Coordinator) Named(name string) []*transcript.Transcript {
	c.mu.Lock()
	list := slices.Clone(c.names[strings.ToLower(strings.TrimPrefix(name, "@"))])
	c.mu.Unlock()
	if has := slices.DeleteFunc(slices.Clone(list), func(x bearer) bool { return x.free }); len(has) > 0 {
		list = has
	} else if len(list) > 1 {
		list = list[len(list)-1:] // who had it last
	}
	own := c.opts.Policy.Team
	slices.SortStableFunc(list, func(a, b bearer) int { return rank(a, own) - rank(b, own) })
	var all []*transcript.Transcript
	for _, x := range list {
		if t, ok := c.opts.Store.Get(x.id); ok {
			all = append(all, t)
		}
	}
	if c.opts.Owner == nil || slices.ContainsFunc(all, func(t *transcript.Transcript) bool { return !c.isAtOwner(t) || string(t.ID()) == name }) {
		return all
	}
	if there := c.opts.Owner.Find(name); len(there) > 0 {
		return there // who has the name now
	}
	return all
}

// rank orders those of a name by team: own first.
func rank(x bearer, own string) int {
	if x.team == own {
		return 0
	}
	return 1
}

// NewID returns an id that no agent of the session has. It begins with name, as
// far as an id can, so that people can tell agents apart and type their ids.
func (c *Coordinator) NewID(name string) mailbox.AgentID {
	c.mu.Lock()
	defer c.mu.Unlock()
	for { // eight digits are few enough to type and too few to be sure of
		id := newID(name)
		if _, taken := c.names[string(id)]; !taken {
			return id
		}
	}
}

func newID(name string) mailbox.AgentID {
	var b [4]byte
	rand.Read(b[:]) // never fails
	token := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == '-', r == '_', r == ' ', r == '.', r == ':':
			return '-'
		}
		return -1
	}, strings.ToLower(name))
	token = strings.Trim(token[:min(len(token), 24)], "-")
	return mailbox.AgentID(cmp.Or(token, "agent") + "-" + hex.EncodeToString(b[:]))
}
