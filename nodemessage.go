package swarm

import (
	"errors"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/budget"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/protocol"
)

// nodeReport is what a node says at each sign of life.
type nodeReport struct {
	Launch    uint32           `json:"launch"`
	PID       int              `json:"pid"`
	Life      *transcript.Life `json:"life,omitempty"`
	State     actors.State     `json:"state"`
	Running   bool             `json:"running,omitempty"`
	Unread    int              `json:"unread,omitempty"`
	Questions []Question       `json:"questions,omitempty"`
	Known     int              `json:"known"`            // agents that the node has heard of
	Landed    []string         `json:"landed,omitempty"` // requests that Life has the use of
}

// nodeWelcome is the answer to a report.
type nodeWelcome struct {
	Leave      string            `json:"leave,omitempty"` // why the node must end
	Spec       *transcript.Spec  `json:"spec,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Attended   bool              `json:"attended,omitempty"`
	AskTimeout time.Duration     `json:"ask_timeout,omitempty"`
	Granted    []string          `json:"granted,omitempty"`
	Members    []transcript.Spec `json:"members,omitempty"`
	Count      int               `json:"count"`             // of agents of the session
	Bounded    bool              `json:"bounded,omitempty"` // requests are reserved with the owner
}

// nodeCall is a request between a node and the owner of its session.
type nodeCall struct {
	Name   string          `json:"name,omitempty"`
	By     mailbox.AgentID `json:"by,omitempty"`
	Cause  string          `json:"cause,omitempty"`
	Launch uint32          `json:"launch"`
	Answer *Answer         `json:"answer,omitempty"`
	// Spec is what By is, if it is below a node.
	Spec *transcript.Spec `json:"spec,omitempty"`

	Plan     *message.PlanApprovalResponse `json:"plan,omitempty"`
	Shutdown *message.ShutdownResponse     `json:"shutdown,omitempty"`
	Dismiss  *actors.Dismissal             `json:"dismiss,omitempty"`
	Ending   *protocol.Shutdown            `json:"ending,omitempty"` // that the agent is ended by
	Key      string                        `json:"key,omitempty"`
	Ask      *budget.Ask                   `json:"ask,omitempty"`

	Kind  mailbox.Kind  `json:"kind,omitempty"` // of a letter to another session
	Class mailbox.Class `json:"class,omitempty"`
	Most  int           `json:"most,omitempty"`
}

type nodeReply struct {
	Error string            `json:"error,omitempty"`
	Code  int               `json:"code,omitempty"` // which of refusals the error is, from 1
	Found []transcript.Spec `json:"found,omitempty"`
	Life  *transcript.Life  `json:"life,omitempty"`
	Quiet bool              `json:"quiet,omitempty"`
	Moves uint64            `json:"moves,omitempty"`

	Ending *protocol.Shutdown `json:"ending,omitempty"`
	Sight  *nodeSight         `json:"sight,omitempty"`
	Ended  []Ended            `json:"ended,omitempty"`
	Near   []team.Neighbour   `json:"near,omitempty"`

	Settled *SettledQuestionError `json:"settled,omitempty"`

	Output   int64                 `json:"output,omitempty"` // tokens that an answer may have
	Wait     bool                  `json:"wait,omitempty"`   // ask again
	Over     *budget.OverError     `json:"over,omitempty"`
	Unpriced *budget.UnpricedError `json:"unpriced,omitempty"`
}

// refusals are the errors that keep their identity between two processes. Their
// order is part of what is said.
func refusals() []error {
	return []error{
		protocol.ErrNoRequest, protocol.ErrWrongID, protocol.ErrLate, protocol.ErrNotRefusable, protocol.ErrUnauthorized, protocol.ErrNotPlanning,
		team.ErrNoSession,
	}
}

func (r *nodeReply) refuse(err error) {
	if err == nil {
		return
	}
	errors.As(err, &r.Settled)
	errors.As(err, &r.Over)
	errors.As(err, &r.Unpriced)
	r.Error = err.Error()
	r.Code = 1 + slices.IndexFunc(refusals(), func(known error) bool { return errors.Is(err, known) })
}

func (r *nodeReply) err() error {
	known := refusals()
	switch {
	case r.Settled != nil:
		return r.Settled
	case r.Over != nil:
		return r.Over
	case r.Unpriced != nil:
		return r.Unpriced
	case r.Error == "":
		return nil
	case r.Code < 1 || r.Code > len(known):
		return errors.New(r.Error)
	}
	return &saidError{text: r.Error, is: known[r.Code-1]}
}

// nodeEvent is what happened at a node.
type nodeEvent struct {
	Launch uint32      `json:"launch"`
	Event  event.Event `json:"event"`
}

func nodeSubject(session string, id, way, verb string) string {
	return "sw." + session + ".node." + id + "." + way + "." + verb
}
