package swarm

import (
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
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
	Known     int              `json:"known"` // agents that the node has heard of
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
	Count      int               `json:"count"` // of agents of the session
}

// nodeCall is a request between a node and the owner of its session.
type nodeCall struct {
	Name   string          `json:"name,omitempty"`
	By     mailbox.AgentID `json:"by,omitempty"`
	Cause  string          `json:"cause,omitempty"`
	Launch uint32          `json:"launch"`
	Answer *Answer         `json:"answer,omitempty"`
}

type nodeReply struct {
	Error string           `json:"error,omitempty"`
	Spec  *transcript.Spec `json:"spec,omitempty"`
	Life  *transcript.Life `json:"life,omitempty"`
	Quiet bool             `json:"quiet,omitempty"`
	Moves uint64           `json:"moves,omitempty"`
}

func nodeSubject(session string, id, way, verb string) string {
	return "sw." + session + ".node." + id + "." + way + "." + verb
}
