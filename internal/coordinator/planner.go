package coordinator

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// asker asks the user about the calls of one agent.
type asker struct{ h *host }

// planner moves the plan mode of one agent on.
type planner struct{ asker }

var (
	_ tools.Asker   = asker{}
	_ tools.Planner = planner{}
)

// Attended reports whether the user can be asked at all.
func (a asker) Attended() bool { return a.h.c.opts.Policy.Asks() }

// Consent returns how a question about a call was resolved, if it was.
func (a asker) Consent(callID string) (transcript.Consent, error) { return a.h.t.Consents().Of(callID) }

// Ask asks the user about a call and returns how the question was resolved.
func (a asker) Ask(ctx context.Context, c tool.Call, p tools.Prompt) (transcript.Consent, error) {
	call := model.Call{ID: c.ID, Name: c.Name, Input: c.Input}
	q := a.h.permits.question(p.Kind, call)
	q.Choices, q.Summary, q.Reason = p.Choices, p.Summary, p.Reason
	err := a.h.permits.ask(ctx, p.State, q, ask.Request{Record: func(s event.Resolution) error {
		return a.h.permits.decide(call, report.ConsentOf(p.Allows(s.Answer)), s)
	}}, call)
	if err != nil {
		return transcript.Consent{}, err
	}
	return a.h.t.Consents().Of(c.ID)
}

// Record is how the agent is now.
func (p planner) Record() agent.Record { return p.h.t.Record() }

// Lead returns the agent that decides about the plans besides the user.
func (p planner) Lead() (agent.Spec, bool) {
	t, ok := p.h.c.planLead(p.h.t.Spec())
	if !ok {
		return agent.Spec{}, false
	}
	return t.Spec(), true
}

// Next records an event of the plan mode and returns the plan after it.
func (p planner) Next(e protocol.PlanEvent) (protocol.Plan, error) {
	plan, _, err := p.h.t.PlanNext(e, nil)
	return plan, err
}

// Publish reports the state of the plan to observers.
func (p planner) Publish(plan protocol.Plan) { p.h.c.publishPlan(p.h.t, plan) }

// OpenQuestion asks the user about the plan too. It does not wait for the answer.
func (p planner) OpenQuestion() { p.h.c.awaitPlan(p.h.t) }

// Mode is the permission mode of the agent once its plan is approved.
func (p planner) Mode() (permission.Mode, error) { return p.h.c.modeAfterPlan(p.h.t.Spec(), "") }

// Send sends a message to an agent, which is woken if it has ended. It returns when
// the message is on disk.
func (p planner) Send(e mailbox.Envelope) error {
	if err := p.h.c.reopenFor(e.To.Agent, p.h.t.ID()); err != nil {
		return err
	}
	sent, durable, err := p.h.t.Send(e)
	if err != nil {
		return err
	}
	p.h.c.Sent(p.h.t.ID(), sent)
	return durable()
}

// pause ends the turn of an agent that has just shown its plan to its lead, and
// has nothing else to read.
func (h *host) pause() string {
	if why := h.hooks.StopReason(); why != "" {
		return why
	}
	p := h.t.Record().Plan
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
