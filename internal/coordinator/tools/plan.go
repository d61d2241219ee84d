package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/ids"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// maxPlan is the most that a plan may be, in bytes: it is kept with the state of
// its agent.
const maxPlan = 64 << 10

// Planner moves the plan mode of the caller on.
type Planner interface {
	Asker
	// Record is how the caller is now.
	Record() agent.Record
	// Lead returns the agent that decides about the caller's plans besides the user.
	Lead() (agent.Spec, bool)
	// Next records an event of the plan mode and returns the plan after it.
	Next(e protocol.PlanEvent) (protocol.Plan, error)
	// Publish reports the state of the plan to observers.
	Publish(p protocol.Plan)
	// Send sends a message to an agent, which is woken if it has ended. It returns
	// when the message is on disk.
	Send(e mailbox.Envelope) error
	// OpenQuestion asks the user about the plan too. It does not wait for the answer.
	OpenQuestion()
	// Mode is the permission mode of the caller once its plan is approved.
	Mode() (permission.Mode, error)
}

// EnterPlan is the EnterPlanMode tool.
type EnterPlan struct{ planner Planner }

// NewEnterPlan returns the EnterPlanMode tool of an agent.
func NewEnterPlan(p Planner) *EnterPlan { return &EnterPlan{p} }

// Spec describes the tool.
func (e *EnterPlan) Spec() tool.Spec {
	return tool.Spec{
		Name: enterPlanName,
		Description: "Puts you in plan mode: you read and think, and nothing can be changed until a plan that you show with ExitPlanMode is approved. " +
			"For work whose way should be agreed on first.",
		Schema:   json.RawMessage(`{"type":"object","properties":{}}`),
		Recorded: true,
	}
}

// Run puts the caller in plan mode if there is a person or a lead to approve a plan.
func (e *EnterPlan) Run(context.Context, tool.Call) (tool.Result, error) {
	if _, byLead := e.planner.Lead(); !byLead && !e.planner.Attended() {
		return tool.Errorf("unattended: nobody can approve a plan here. Say in your answer what you are going to do, and go on."), nil
	}
	p, err := e.planner.Next(protocol.Enter{})
	if err != nil {
		return tool.Result{}, err
	}
	e.planner.Publish(p)
	return tool.Result{Text: "You are in plan mode. Read what you need, then show your plan with ExitPlanMode; nothing can be changed before it is approved."}, nil
}

// ExitPlan is the ExitPlanMode tool.
type ExitPlan struct{ planner Planner }

// NewExitPlan returns the ExitPlanMode tool of an agent.
func NewExitPlan(p Planner) *ExitPlan { return &ExitPlan{p} }

const exitPlanSchema = `{"type":"object","properties":{` +
	`"plan":{"type":"string","description":"The whole plan: what you will change and how, in Markdown"}},"required":["plan"]}`

// Spec describes the tool.
func (e *ExitPlan) Spec() tool.Spec {
	return tool.Spec{
		Name: ExitPlanName,
		Description: "Shows your plan to who decides about it: a teammate's to the lead, everybody else's to the user. Approved, you leave plan mode and go to work; " +
			"rejected, you change the plan by what you are told and show it again.",
		Schema:   json.RawMessage(exitPlanSchema),
		Recorded: true,
	}
}

type exitPlanInput struct {
	Plan string `json:"plan"`
}

// Run shows the plan to the lead, or asks the user and waits for the decision.
func (e *ExitPlan) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in exitPlanInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	switch {
	case strings.TrimSpace(in.Plan) == "":
		return tool.Errorf("the plan is empty: write in plan what you will change and how"), nil
	case len(in.Plan) > maxPlan:
		return tool.Errorf("the plan is %d bytes and at most %d can be shown: write it shorter", len(in.Plan), maxPlan), nil
	}
	if r := e.planner.Record(); !r.Plan.Gates() && !spawn.Planning(r.Spec.Mode) && r.Plan.Call != c.ID { // decided before a crash
		return tool.Errorf("not shown: %v", protocol.ErrNotPlanning), nil
	}
	if lead, ok := e.planner.Lead(); ok {
		return e.showLead(lead, c, in.Plan)
	}
	return e.showUser(ctx, c, in.Plan)
}

// submit records that the plan waits for a decision.
func (e *ExitPlan) submit(c tool.Call, lead mailbox.AgentID, plan string) (protocol.Plan, error) {
	me := e.planner.Record()
	if me.Plan.Call == c.ID && me.Plan.Phase != protocol.PlanPending && me.Plan.By != "" {
		return me.Plan, nil // decided before a crash
	}
	if !me.Plan.Gates() {
		if _, err := e.planner.Next(protocol.Enter{}); err != nil {
			return me.Plan, err
		}
	}
	return e.planner.Next(protocol.Submit{
		ID: ids.Plan(me.Spec.ID, me.Steps, c.ID), Call: c.ID, Lead: lead, Text: plan, Now: time.Now(),
	})
}

// showLead sends the plan to the lead. The turn ends with the call; the decision
// begins the next.
func (e *ExitPlan) showLead(lead agent.Spec, c tool.Call, plan string) (tool.Result, error) {
	p, err := e.submit(c, lead.ID, plan)
	if err != nil {
		return tool.Result{}, err
	}
	if err := e.send(lead, p, plan); err != nil {
		if _, back := e.planner.Next(protocol.Withdraw{ID: p.ID}); back != nil {
			return tool.Result{}, back
		}
		return tool.Errorf("the plan could not be shown to %s: %v; try again", agent.DisplayName(lead), err), nil
	}
	e.planner.Publish(p)
	e.planner.OpenQuestion()
	return tool.Result{
		Text:   fmt.Sprintf("Your plan lies before %s (request %s). Your turn ends here; the decision begins the next one.", agent.DisplayName(lead), p.ID),
		Detail: report.Detail(map[string]any{"plan": plan, "isAgent": true, "awaitingLeaderApproval": true, "requestId": p.ID}),
	}, nil
}

func (e *ExitPlan) send(lead agent.Spec, p protocol.Plan, plan string) error {
	body, err := message.Encode(message.PlanApprovalRequest{RequestID: p.ID, Plan: plan})
	if err != nil {
		return err
	}
	name := agent.DisplayName(e.planner.Record().Spec)
	return e.planner.Send(mailbox.Envelope{
		ID: mailbox.ID(p.ID), To: mailbox.Address{Agent: lead.ID}, Kind: mailbox.KindPlanApprovalRequest,
		FromName: name, ToName: agent.DisplayName(lead), Summary: name + " shows its plan", Body: body,
	})
}

// showUser asks the user and waits, like for a permission.
func (e *ExitPlan) showUser(ctx context.Context, c tool.Call, plan string) (tool.Result, error) {
	if !e.planner.Attended() {
		return tool.Errorf("unattended: nobody can approve the plan here. End your turn with the plan as your answer."), nil
	}
	if _, err := e.submit(c, "", plan); err != nil {
		return tool.Result{}, err
	}
	consent, err := e.planner.Consent(c.ID)
	if err == nil && !consent.Decided() {
		consent, err = e.planner.Ask(ctx, c, Prompt{
			Kind: event.AsksPermission, State: state.WaitsForApproval,
			Summary: "the plan: " + report.Cut(report.OneLine(plan), 200), Reason: "nothing is changed before the plan is approved",
			Allows: func(a event.Answer) bool { return a.Allow },
		})
	}
	if err != nil {
		return tool.Result{}, err
	}
	return e.decide(c, consent)
}

// decide makes the user's answer the decision about the plan.
func (e *ExitPlan) decide(c tool.Call, consent transcript.Consent) (tool.Result, error) {
	if p := e.planner.Record().Plan; p.Phase == protocol.PlanPending {
		if err := e.recordDecision(p.ID, c.ID, consent); err != nil {
			return tool.Result{}, err
		}
	}
	switch consent.State {
	case transcript.ConsentAllowed:
		return tool.Result{Text: "The user approves your plan" + colon(consent.Note) + ". Go to work."}, nil
	case transcript.ConsentExpired:
		return tool.Errorf("%s. You are still in plan mode", report.Expired(consent)), nil
	}
	return tool.Errorf("The user does not approve your plan%s. Change it and show it again.", colon(consent.Note)), nil
}

func (e *ExitPlan) recordDecision(plan, callID string, consent transcript.Consent) error {
	d := protocol.Decide{
		ID: plan, From: agent.UserID, User: true, Key: callID, Feedback: consent.Note, Approve: consent.State == transcript.ConsentAllowed,
	}
	if d.Approve {
		mode, err := e.planner.Mode()
		if err != nil {
			return err
		}
		d.Mode = string(mode)
	}
	p, err := e.planner.Next(d)
	if err == nil {
		e.planner.Publish(p)
	}
	return err
}
