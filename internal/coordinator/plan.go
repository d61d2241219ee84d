package coordinator

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// gatedBy returns the agent whose plan must be approved before a call of this one
// may change anything: itself, or the nearest for which it works until its end.
func (p *permits) gatedBy() (agent.Record, bool) {
	for l := p.h.t.Record(); ; {
		if l.Plan.Gates() {
			return l, true
		}
		up, ok := p.h.c.opts.Store.Get(registry.WorksFor(l))
		if !endsByItself(l.Spec.Role) || !ok {
			return l, false
		}
		l = up.Record()
	}
}

// gate refuses a call that needs permission while the agent plans. The user is not
// asked about the call, but about the plan.
func (p *permits) gate(d permission.Decision) permission.Decision {
	who, gated := p.gatedBy()
	if !gated || d.Behavior != permission.Ask || d.Judge != permission.NotJudged {
		return d
	}
	whose := "your plan"
	if who.Spec.ID != p.h.t.ID() {
		whose = "the plan of " + agent.DisplayName(who.Spec)
	}
	return permission.Decision{Rule: "plan mode", Reason: "nothing is changed before " + whose + " is approved; read, plan, and show the plan with ExitPlanMode"}
}

// policy returns the policy by which the agent's calls are decided now.
func (p *permits) policy() permission.Policy {
	policy := p.h.c.opts.Permission(p.h.t.Spec())
	if _, gated := p.gatedBy(); gated {
		policy.Mode = permission.Narrower(permission.Plan, policy.Mode)
	}
	return policy
}

// planLead returns the lead of a teammate, who decides about its plans besides the
// user. About the plans of other agents only the user decides.
func (ps *protocols) planLead(s agent.Spec) (*transcript.Transcript, bool) {
	if s.Role != agent.Teammate {
		return nil, false
	}
	return ps.c.opts.Store.Get(ps.c.registry.LeadOf(s))
}

// DecidePlan decides about the plan that an agent has shown. It returns when the
// decision is on disk; the agent then continues with it. Its errors are those of
// protocol.Plan, and an *actors.FinalError if the agent cannot go on.
func (ps *protocols) DecidePlan(by, id mailbox.AgentID, r message.PlanApprovalResponse, key string) error {
	from, err := ps.c.transcript(by)
	if err != nil {
		return err
	}
	t, err := ps.c.transcript(id)
	if err != nil {
		return err
	}
	return ps.decide(from, t, r, key)
}

func (ps *protocols) decide(by, t *transcript.Transcript, r message.PlanApprovalResponse, key string) error {
	switch _, remote := ps.c.replica(t.ID()); {
	case remote:
		return ps.decideRemotePlan(by, t, r, key)
	case ps.c.isAtOwner(t) && ps.c.isSelf(by):
		return ps.c.opts.Owner.DecidePlan(t.ID(), r, key)
	}
	d := protocol.Decide{
		ID: r.RequestID, From: by.ID(), User: by.ID() == agent.UserID, Approve: r.Approve, Feedback: r.Feedback, Key: key,
	}
	err := ps.decidePlan(by, t, d, permission.Mode(r.Mode))
	if err != nil {
		ps.c.Refused(by.ID(), string(mailbox.KindPlanApprovalResponse)+" to "+agent.DisplayName(t.Spec()), err)
	}
	return err
}

// decideRemotePlan passes a decision on to the process of the agent, where the plan
// and its gate are.
func (ps *protocols) decideRemotePlan(by, t *transcript.Transcript, r message.PlanApprovalResponse, key string) error {
	if l := t.Record(); l.Closed {
		d := protocol.Decide{ID: r.RequestID, From: by.ID(), User: by.ID() == agent.UserID, Approve: r.Approve, Key: key}
		_, _, err := l.Plan.Next(d)
		if err == nil {
			err = ps.c.Reopen(t.ID(), by.ID())
		}
		if err != nil {
			ps.c.Refused(by.ID(), string(mailbox.KindPlanApprovalResponse)+" to "+agent.DisplayName(t.Spec()), err)
			return err
		}
	}
	if err := ps.c.launchAgain(t); err != nil {
		return err
	}
	return ps.c.opts.Remote.DecidePlan(ps.c.scope, t.ID(), by.ID(), r, key)
}

func (ps *protocols) decidePlan(by, t *transcript.Transcript, d protocol.Decide, asked permission.Mode) error {
	if asked != "" {
		if _, err := permission.ParseMode(string(asked)); err != nil {
			return err
		}
	}
	if _, _, err := t.Record().Plan.Next(d); err != nil {
		return err
	}
	if err := ps.c.Reopen(t.ID(), by.ID()); err != nil {
		return err
	}
	if d.Approve {
		mode, err := ps.modeAfterPlan(t.Spec(), asked)
		if err != nil {
			return err
		}
		d.Mode = string(mode)
	}
	frame := framer(by, t)
	p, effect, err := t.PlanNext(d, func(p protocol.Plan) string {
		return frame(message.PlanApprovalResponse{RequestID: p.ID, Approve: d.Approve, Feedback: p.Feedback, Mode: d.Mode}, p.ID)
	})
	if err != nil {
		return err
	}
	if effect == protocol.ShowDecision {
		ps.publishPlan(t, p)
	}
	ps.c.Wake(t.ID())
	ps.c.Notify()
	return nil
}

// modeAfterPlan returns the permission mode of an agent whose plan is approved: its own,
// or that of its lead if its own mode is to plan. It is never wider than that of its
// lead, or than the mode asked for.
func (ps *protocols) modeAfterPlan(s agent.Spec, asked permission.Mode) (permission.Mode, error) {
	bound := permission.Default // for the lead, and for an agent without a parent
	up, ok := ps.planLead(s)
	if !ok {
		up, ok = ps.c.opts.Store.Get(s.Parent)
	}
	if ok {
		l, err := ps.c.currentRecord(up)
		if err != nil {
			return "", err
		}
		bound = permission.Mode(l.Spec.Mode)
		if l.Plan.Gates() {
			bound = permission.Narrower(bound, permission.Plan)
		}
	} else if !spawn.Planning(s.Mode) {
		bound = permission.Mode(s.Mode)
	}
	mode := bound
	if !spawn.Planning(s.Mode) {
		mode = permission.Narrower(permission.Mode(s.Mode), bound)
	}
	if asked != "" {
		mode = permission.Narrower(mode, asked)
	}
	return mode, nil
}

func (ps *protocols) publishPlan(t *transcript.Transcript, p protocol.Plan) {
	ps.c.publish(t, event.PlanMoved{ID: p.ID, Phase: string(p.Phase), By: p.By, Feedback: p.Feedback})
}

// awaitPlan asks the user about the plan that an agent has shown to its lead, until one
// of them has decided. The swarm is not quiet meanwhile, up to the time limit of a
// question.
func (ps *protocols) awaitPlan(t *transcript.Transcript) {
	p := t.Record().Plan
	user, ok := ps.c.opts.Store.Get(agent.UserID)
	if !ok || p.Phase != protocol.PlanPending || !ps.c.opts.Policy.Asks() {
		return
	}
	ps.c.change(func() {
		ctx, cancel := ps.c.scope, context.CancelFunc(func() {})
		if within := ps.c.opts.Policy.AskTimeout; within > 0 {
			ctx, cancel = context.WithTimeout(ps.c.scope, within)
		}
		defer cancel()
		ps.awaitDecision(ctx, t, p.ID)
	})
	ps.c.work(func() {
		ticket := ps.c.questions.Open(ask.Request{
			Question: event.Question{
				ID: p.ID, Agent: agent.Describe(t.Spec()), Kind: event.AsksPermission, Tool: spawn.ExitPlanMode, Asked: p.Asked,
				Summary: "the plan: " + report.Cut(report.OneLine(p.Text), 200), Input: report.Detail(map[string]any{"plan": p.Text}),
				Reason: "nothing is changed before the plan is approved",
			},
			Record: func(s event.Resolution) error {
				return ps.DecidePlan(user.ID(), t.ID(), message.PlanApprovalResponse{RequestID: p.ID, Approve: s.Answer.Allow, Feedback: s.Answer.Note}, "")
			},
		})
		ctx, withdraw := context.WithCancelCause(ps.c.scope)
		defer withdraw(nil)
		ps.c.work(func() { ps.awaitDecision(ctx, t, p.ID); withdraw(errPlanDecided) })
		ps.c.publish(t, event.Asked{Question: ticket.Question()})
		s, err := ticket.Wait(ctx)
		if err != nil && !errors.Is(err, errPlanDecided) {
			return
		}
		ps.c.publish(t, event.QuestionResolved{ID: p.ID, State: string(s.State), Allow: s.Answer.Allow, By: s.By, Note: s.Answer.Note})
	})
}

var errPlanDecided = errors.New("the plan is decided")

// awaitDecision returns when a plan is decided or changed, or ctx ends.
func (ps *protocols) awaitDecision(ctx context.Context, t *transcript.Transcript, id string) {
	for {
		changed := ps.c.whenChanged()
		if p := t.Record().Plan; p.Phase != protocol.PlanPending || p.ID != id {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
