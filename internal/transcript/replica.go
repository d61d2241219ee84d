package transcript

import (
	"reflect"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/team/protocol"
)

// observedMeta is what the process that hosts an agent reports about it.
type observedMeta struct {
	Time   time.Time    `json:"t"`
	Record agent.Record `json:"life"`
}

type launchedMeta struct {
	Time   time.Time `json:"t"`
	Launch uint32    `json:"launch"`
}

// IsReplica reports whether another process hosts the agent: its mail arrives there, and
// its record is what that process reports.
func (t *Transcript) IsReplica() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.Spec.Where != ""
}

// Launch records that a process is about to be started for the agent and returns its
// number. Reports of processes with lower numbers are out of date.
func (t *Transcript) Launch() (uint32, error) {
	t.mu.Lock()
	m := &launchedMeta{Time: time.Now(), Launch: t.state.Launch + 1}
	ticket, err := t.add(kindLaunched, m, nil)
	t.mu.Unlock()
	return m.Launch, wait(ticket, err)
}

// Update applies a report of the agent's process to the replica, and returns the record
// before and after. Nothing is recorded when nothing differs, nor for a report of a
// superseded launch. Update does not wait for the disk: the process reports again.
func (t *Transcript) Update(o agent.Record) (was, is agent.Record, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was = t.state.Record
	if o.Launch != 0 && o.Launch < was.Launch {
		return was, was, nil
	}
	o.Shutdown = protocol.Shutdown{} // that is recorded by itself
	next := state{Record: was}
	next.copyObserved(o)
	if reflect.DeepEqual(next.Record, was) {
		return was, was, nil
	}
	_, err = t.add(kindObserved, &observedMeta{Time: time.Now(), Record: o}, nil)
	return was, t.state.Record, err
}

// copyObserved copies everything from a report but what is decided here: what the agent
// is, for whom it works, its launches and its shutdown. An agent that was closed here
// stays closed until it is reopened here. With the approval of its plan the agent gets
// the mode that it has there.
func (s *state) copyObserved(o agent.Record) {
	if s.Closed && !o.Closed {
		return
	}
	o.Spec, o.Woken, o.Launch, o.Shutdown = s.Spec, s.Woken, s.Launch, s.Shutdown
	if o.Plan.Phase == protocol.PlanApproved && o.Plan.Mode != "" && (s.Plan.Phase != o.Plan.Phase || s.Plan.ID != o.Plan.ID) {
		o.Spec.Mode = o.Plan.Mode
	}
	o.Active = o.Active.Round(0)
	s.Record = o
}
