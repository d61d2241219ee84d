package actors

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// callKey is a tool call: some providers use the ids of calls again in later
// answers, so the answer is part of it.
type callKey struct {
	parent mailbox.AgentID
	answer int // which of the parent's it is in; 0 = not recorded, as by older versions
	call   string
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
	if limit := c.opts.Policy.maxAgents(); limit > 0 && c.made >= limit && spec.Role != transcript.Lead {
		return &LimitError{What: "agents", Max: limit}
	}
	if owner, taken := c.names[strings.ToLower(spec.Name)]; taken && spec.Name != "" {
		return &NameTakenError{Name: spec.Name, Owner: owner}
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
	}
	c.names[string(spec.ID)] = spec.ID
	if spec.Name != "" {
		c.names[strings.ToLower(spec.Name)] = spec.ID
	}
	c.employLocked(transcript.Waking{By: spec.Parent, Answer: spec.Answer, Call: spec.Call}, spec.ID)
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

// Find returns the agent that a name or id means. Case is ignored.
func (c *Coordinator) Find(name string) (*transcript.Transcript, bool) {
	c.mu.Lock()
	id, ok := c.names[strings.ToLower(strings.TrimPrefix(name, "@"))]
	c.mu.Unlock()
	if !ok {
		return nil, false
	}
	return c.opts.Store.Get(id)
}

// Describe returns what events say of an agent.
func Describe(s transcript.Spec) event.Agent {
	return event.Agent{ID: s.ID, Name: DisplayName(s), Type: s.Type, Color: s.Color, Parent: s.Parent, Call: s.Call}
}

// DisplayName is how people and other agents see an agent.
func DisplayName(s transcript.Spec) string {
	switch {
	case s.Role == transcript.Lead:
		return LeadName
	case s.Name != "":
		return s.Name
	}
	return string(s.ID)
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
	return mailbox.AgentID(first(token, "agent") + "-" + hex.EncodeToString(b[:]))
}
