package protocol

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// PlanPhase is where the approval of a plan is.
type PlanPhase string

// The phases; "" is that the agent need not plan.
const (
	PlanDrafting PlanPhase = "drafting" // it reads and thinks
	PlanPending  PlanPhase = "pending"  // its plan waits for a decision
	PlanApproved PlanPhase = "approved"
)

// Plan is the state of an agent's plan mode. The zero value is that it is not
// in it.
type Plan struct {
	Phase    PlanPhase       `json:"phase,omitempty"`
	ID       string          `json:"request_id,omitempty"` // of the newest request
	Call     string          `json:"call,omitempty"`       // the tool call that made it
	Lead     mailbox.AgentID `json:"lead,omitempty"`       // of record: who decides, besides the user
	Text     string          `json:"plan,omitempty"`       // while it waits
	Asked    time.Time       `json:"asked,omitzero"`
	By       mailbox.AgentID `json:"by,omitempty"`  // who decided
	Key      string          `json:"key,omitempty"` // of that decision
	Feedback string          `json:"feedback,omitempty"`
	Mode     string          `json:"mode,omitempty"` // permission mode since the approval
}

// Gates reports whether the agent may not change anything yet.
func (p Plan) Gates() bool { return p.Phase == PlanDrafting || p.Phase == PlanPending }

// PlanEvent is one of Enter, Submit, Withdraw and Decide.
type PlanEvent interface{ plan() }

type (
	// Enter closes the gate.
	Enter struct{}
	// Submit shows a plan to those who decide. The same Call again is the same
	// request.
	Submit struct {
		ID, Call string
		Lead     mailbox.AgentID // "" is that only the user decides
		Text     string
		Now      time.Time
	}
	// Withdraw takes back a request that could not be shown.
	Withdraw struct{ ID string }
	// Decide is a decision. The same Key of the same sender again is the same
	// decision.
	Decide struct {
		ID       string
		From     mailbox.AgentID
		User     bool // From is the person
		Approve  bool
		Feedback string
		Mode     string // the permission mode that the agent gets with the approval
		Key      string
	}
)

func (Enter) plan()    {}
func (Submit) plan()   {}
func (Withdraw) plan() {}
func (Decide) plan()   {}

// Next returns the state after an event.
func (p Plan) Next(e PlanEvent) (Plan, Effect, error) {
	switch e := e.(type) {
	case Enter:
		if !p.Gates() {
			return Plan{Phase: PlanDrafting}, Nothing, nil
		}
	case Submit:
		return p.submitted(e)
	case Withdraw:
		if p.Phase == PlanPending && p.ID == e.ID {
			return Plan{Phase: PlanDrafting}, Nothing, nil
		}
	case Decide:
		return p.decided(e)
	}
	return p, Nothing, nil
}

func (p Plan) submitted(e Submit) (Plan, Effect, error) {
	switch {
	case !p.Gates():
		return p, Nothing, ErrNotPlanning
	case p.Phase == PlanPending && p.Call == e.Call:
		return p, AskLead, nil
	}
	return Plan{Phase: PlanPending, ID: e.ID, Call: e.Call, Lead: e.Lead, Text: e.Text, Asked: e.Now}, AskLead, nil
}

func (p Plan) decided(e Decide) (Plan, Effect, error) {
	switch {
	case p.ID == "":
		return p, Nothing, fmt.Errorf("%w: it has shown no plan", ErrNoRequest)
	case !e.User && (p.Lead == "" || e.From != p.Lead):
		return p, Nothing, ErrUnauthorized
	case p.ID != e.ID:
		return p, Nothing, fmt.Errorf("%w: it is %s, not %q", ErrWrongID, p.ID, e.ID)
	case p.Phase != PlanPending && e.Key != "" && p.Key == e.Key && p.By == e.From:
		return p, Nothing, nil
	case p.Phase != PlanPending:
		return p, Nothing, fmt.Errorf("%w: %s was decided by %s", ErrLate, p.ID, p.By)
	}
	p.Phase, p.Text = PlanDrafting, ""
	p.By, p.Key, p.Feedback = e.From, e.Key, e.Feedback
	if e.Approve {
		p.Phase, p.Mode = PlanApproved, e.Mode
	}
	return p, ShowDecision, nil
}
