package transcript

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// Names that stand in packages agent and mailbox.
type (
	Spec       = agent.Spec
	Life       = agent.Record
	Membership = agent.Membership
	Restart    = agent.Restart
	Place      = agent.Place
	Role       = agent.Role
	Link       = agent.Link
	Outcome    = agent.Outcome
	Waking     = agent.Waking
	Kept       = agent.Kept
	ModelUse   = agent.ModelUse
	Mail       = mailbox.Trace
	MailStep   = mailbox.Step
)

// Places, roles, links and outcomes.
const (
	InTmux      = agent.InTmux
	InProcess   = agent.InProcess
	AtOwner     = agent.AtOwner
	Lead        = agent.Lead
	Foreground  = agent.Foreground
	Background  = agent.Background
	Teammate    = agent.Teammate
	User        = agent.User
	Outside     = agent.Outside
	Reparent    = agent.Reparent
	Continue    = agent.Continue
	StopWith    = agent.StopWith
	Completed   = agent.Completed
	MaxTurns    = agent.MaxTurns
	Interrupted = agent.Interrupted
	Stopped     = agent.Stopped
	Failed      = agent.Failed
	TimedOut    = agent.TimedOut
	OverBudget  = agent.OverBudget
)
