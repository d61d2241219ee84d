package actors

import (
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
)

// Names that stand in package agent.
type (
	Deadlines = agent.Deadlines
	Isolation = agent.Isolation
	Place     = agent.Place
)

// The lead, and the places.
const (
	LeadID    = agent.LeadID
	LeadName  = agent.LeadName
	InTmux    = agent.InTmux
	InProcess = agent.InProcess
)

// Describe is agent.Describe.
func Describe(s agent.Spec) event.Agent { return agent.Describe(s) }

// DisplayName is agent.DisplayName.
func DisplayName(s agent.Spec) string { return agent.DisplayName(s) }

// ParseDeadline is agent.ParseDeadline.
func ParseDeadline(text string) (time.Duration, error) { return agent.ParseDeadline(text) }
