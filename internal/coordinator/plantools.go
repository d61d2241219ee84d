package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/ids"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

const (
	enterPlanName = "EnterPlanMode"
	exitPlanName  = spawn.ExitPlanMode
)

// maxPlan is the most that a plan may be, in bytes: it is kept with the state of
// its agent.
const maxPlan = 64 << 10

// enterPlan is the EnterPlanMode tool of one agent.
type enterPlan struct{ h *host }

func (e *enterPlan) Spec() tool.Spec {
	return tool.Spec{
		Name: enterPlanName,
		Description: "Puts you in plan mode: you read and think, and nothing can be changed until a plan that you show with ExitPlanMode is approved. " +
			"For work whose way should be agreed on first.",
		Schema:   json.RawMessage(`{"type":"object","properties":{}}`),
		Recorded: true,
	}
}

func (e *enterPlan) Run(context.Context, tool.Call) (tool.Result, error) {
	if _, byLead := e.h.c.planLead(e.h.t.Spec()); !byLead && !e.h.c.opts.Policy.Asks() {
		return tool.Errorf("unattended: nobody can approve a plan here. Say in your answer what you are going to do, and go on."), nil
	}
	p, _, err := e.h.t.PlanNext(protocol.Enter{}, nil)
	if err != nil {
		return tool.Result{}, err
	}
	e.h.c.publishPlan(e.h.t, p)
	return tool.Result{Text: "You are in plan mode. Read what you need, then show your plan with ExitPlanMode; nothing can be changed before it is approved."}, nil
}

// exitPlan is the ExitPlanMode tool of one agent.
type exitPlan struct{ h *host }

const exitPlanSchema = `{"type":"object","properties":{` +
	`"plan":{"type":"string","description":"The whole plan: what you will change and how, in Markdown"}},"required":["plan"]}`

func (e *exitPlan) Spec() tool.Spec {
	return tool.Spec{
		Name: exitPlanName,
		Description: "Shows your plan to who decides about it: a teammate's to the lead, everybody else's to the user. Approved, you leave plan mode and go to work; " +
			"rejected, you change the plan by what you are told and show it again.",
		Schema:   json.RawMessage(exitPlanSchema),
		Recorded: true,
	}
}

type exitPlanInput struct {
	Plan string `json:"plan"`
}

func (e *exitPlan) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
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
	if l := e.h.t.Life(); !l.Plan.Gates() && !spawn.Planning(l.Spec.Mode) && !e.decided(c) {
		return tool.Errorf("not shown: %v", protocol.ErrNotPlanning), nil
	}
	if lead, ok := e.h.c.planLead(e.h.t.Spec()); ok {
		return e.showLead(lead, c, in.Plan)
	}
	return e.showUser(ctx, c, in.Plan)
}

// decided says of a call that runs again after a crash that its plan has been
// decided.
func (e *exitPlan) decided(c tool.Call) bool { return e.h.t.Life().Plan.Call == c.ID }

// submit records that the plan waits for a decision.
func (e *exitPlan) submit(c tool.Call, lead mailbox.AgentID, plan string) (protocol.Plan, error) {
	life := e.h.t.Life()
	if life.Plan.Call == c.ID && life.Plan.Phase != protocol.PlanPending && life.Plan.By != "" {
		return life.Plan, nil // decided before a crash
	}
	if !life.Plan.Gates() {
		if _, _, err := e.h.t.PlanNext(protocol.Enter{}, nil); err != nil {
			return life.Plan, err
		}
	}
	p, _, err := e.h.t.PlanNext(protocol.Submit{
		ID: ids.Plan(e.h.t.ID(), life.Steps, c.ID), Call: c.ID, Lead: lead, Text: plan, Now: time.Now(),
	}, nil)
	return p, err
}

// showLead sends the plan to the lead. The turn ends with the call; the decision
// begins the next.
func (e *exitPlan) showLead(lead *transcript.Transcript, c tool.Call, plan string) (tool.Result, error) {
	p, err := e.submit(c, lead.ID(), plan)
	if err != nil {
		return tool.Result{}, err
	}
	if err := e.post(lead, p, plan); err != nil {
		if _, _, back := e.h.t.PlanNext(protocol.Withdraw{ID: p.ID}, nil); back != nil {
			return tool.Result{}, back
		}
		return tool.Errorf("the plan could not be shown to %s: %v; try again", agent.DisplayName(lead.Spec()), err), nil
	}
	e.h.c.publishPlan(e.h.t, p)
	e.h.c.awaitPlan(e.h.t)
	return tool.Result{
		Text:   fmt.Sprintf("Your plan lies before %s (request %s). Your turn ends here; the decision begins the next one.", agent.DisplayName(lead.Spec()), p.ID),
		Detail: report.Detail(map[string]any{"plan": plan, "isAgent": true, "awaitingLeaderApproval": true, "requestId": p.ID}),
	}, nil
}

func (e *exitPlan) post(lead *transcript.Transcript, p protocol.Plan, plan string) error {
	if err := e.h.c.reopenFor(lead.ID(), e.h.t.ID()); err != nil {
		return err
	}
	body, err := message.Encode(message.PlanApprovalRequest{RequestID: p.ID, Plan: plan})
	if err != nil {
		return err
	}
	name := agent.DisplayName(e.h.t.Spec())
	sent, durable, err := e.h.t.Send(mailbox.Envelope{
		ID: mailbox.ID(p.ID), To: mailbox.Address{Agent: lead.ID()}, Kind: mailbox.KindPlanApprovalRequest,
		FromName: name, ToName: agent.DisplayName(lead.Spec()), Summary: name + " shows its plan", Body: body,
	})
	if err != nil {
		return err
	}
	e.h.c.Sent(e.h.t.ID(), sent)
	return durable()
}

// showUser asks the user and waits, like for a permission.
func (e *exitPlan) showUser(ctx context.Context, c tool.Call, plan string) (tool.Result, error) {
	if !e.h.c.opts.Policy.Asks() {
		return tool.Errorf("unattended: nobody can approve the plan here. End your turn with the plan as your answer."), nil
	}
	if _, err := e.submit(c, "", plan); err != nil {
		return tool.Result{}, err
	}
	consent, err := e.h.t.Consent(c.ID)
	if err == nil && !consent.Decided() {
		err = e.ask(ctx, c, plan)
		if err == nil {
			consent, err = e.h.t.Consent(c.ID)
		}
	}
	if err != nil {
		return tool.Result{}, err
	}
	return e.decide(c, consent)
}

func (e *exitPlan) ask(ctx context.Context, c tool.Call, plan string) error {
	call := model.Call{ID: c.ID, Name: c.Name, Input: c.Input}
	q := e.h.permits.question(event.AsksPermission, call)
	q.Summary, q.Reason = "the plan: "+report.Cut(report.OneLine(plan), 200), "nothing is changed before the plan is approved"
	return e.h.permits.ask(ctx, state.WaitsForApproval, q, ask.Request{Record: func(s event.Resolution) error {
		state := transcript.ConsentDenied
		if s.Answer.Allow {
			state = transcript.ConsentAllowed
		}
		return e.h.permits.decide(call, state, s)
	}}, call)
}

// decide makes what the user said the decision about the plan.
func (e *exitPlan) decide(c tool.Call, consent transcript.Consent) (tool.Result, error) {
	p := e.h.t.Life().Plan
	if p.Phase == protocol.PlanPending {
		d := protocol.Decide{
			ID: p.ID, From: agent.UserID, User: true, Key: c.ID, Feedback: consent.Note, Approve: consent.State == transcript.ConsentAllowed,
		}
		if d.Approve {
			mode, err := e.h.c.modeAfterPlan(e.h.t.Spec(), "")
			if err != nil {
				return tool.Result{}, err
			}
			d.Mode = string(mode)
		}
		var err error
		if p, _, err = e.h.t.PlanNext(d, nil); err != nil {
			return tool.Result{}, err
		}
		e.h.c.publishPlan(e.h.t, p)
	}
	switch consent.State {
	case transcript.ConsentAllowed:
		return tool.Result{Text: "The user approves your plan" + colon(consent.Note) + ". Go to work."}, nil
	case transcript.ConsentExpired:
		return tool.Errorf("%s. You are still in plan mode", expired(consent)), nil
	}
	return tool.Errorf("The user does not approve your plan%s. Change it and show it again.", colon(consent.Note)), nil
}

// pause ends the turn of an agent that has just shown its plan to its lead, and
// has nothing else to read.
func (h *host) pause() string {
	p := h.t.Life().Plan
	if p.Phase != protocol.PlanPending || p.Lead == "" {
		return ""
	}
	d, err := h.t.Draft()
	if err != nil || len(d.Mail) > 0 || len(d.Waiting) > len(d.Results) {
		return ""
	}
	if !slices.ContainsFunc(d.Results, func(c model.Call) bool { return c.ID == p.Call }) {
		return ""
	}
	return "its plan waits for approval"
}
