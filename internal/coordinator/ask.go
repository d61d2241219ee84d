package coordinator

import (
	"context"
	"errors"
	"strings"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/ids"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/turnhook"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
	"github.com/actorswarm/swarm/tool"
)

// byUser names the user, who alone answers questions.
const byUser = "user"

// Questions returns the open questions, the oldest first.
func (c *Coordinator) Questions() []event.Question { return c.questions.List() }

// Answer resolves a question with the user's answer. It returns when the answer is on
// disk. The errors are those of ask.Queue.
func (c *Coordinator) Answer(id string, a event.Answer) error {
	err := c.questions.Answer(id, byUser, a)
	if errors.Is(err, transcript.ErrDecided) || errors.Is(err, protocol.ErrLate) {
		return &event.ResolvedQuestionError{ID: id, State: event.QuestionAnswered}
	}
	return err
}

// permits decides about the calls of one agent, and asks the user where the rules require it
// so.
type permits struct{ h *host }

// permit is the one point where a call is decided: hooks come first, and the rules
// judge what hooks have made of the call.
func (p *permits) permit(ctx context.Context, spec tool.Spec, c model.Call) (turn.Verdict, error) {
	return p.h.hooks.Permit(ctx, spec, c, p.decideCall)
}

// decideCall decides about a call that no hook denies. A call that a rule denies is
// denied, whatever a person has answered before. An answer decides a call that would be
// asked about; a denial also one that the rules allow.
func (p *permits) decideCall(ctx context.Context, spec tool.Spec, c model.Call, pre agenthook.Decision) (turn.Verdict, error) {
	for requested := false; ; {
		d := p.gate(p.judge(spec, c, pre))
		consent, err := p.h.t.Consents().Of(c.ID)
		switch {
		case err != nil:
			return turn.Verdict{}, err
		case d.Behavior == permission.Deny:
			return turn.Verdict{Decision: d}, nil
		case tools.Asks(spec.Name):
			d.Behavior = permission.Allow
			return turn.Verdict{Decision: d}, nil
		case consent.Decided():
			return report.Verdict(consent), nil
		case d.Behavior == permission.Allow:
			return turn.Verdict{Decision: d}, nil
		case consent.State == "": // else a person is asked already
			if d, err = p.askModel(ctx, c, d, func() permission.Decision { return p.gate(p.judge(spec, c, pre)) }); err != nil || d.Behavior != permission.Ask {
				return turn.Verdict{Decision: d}, err
			}
		}
		if !requested {
			requested = true
			if v, decided, err := p.h.hooks.PermissionRequest(ctx, p.permissionRequest(spec, c), c); decided || err != nil {
				return v, err
			}
		}
		if !p.h.c.opts.Policy.Asks() || d.Judge == permission.JudgedAlone {
			return turn.Verdict{Decision: report.Unasked(d)}, nil
		}
		// The answer is on record, or a new rule covers the call: the next round
		// decides by it.
		if err := p.askPermission(ctx, spec, c, d, pre); err != nil {
			return turn.Verdict{}, err
		}
	}
}

// judge decides about a call by mode and rules.
func (p *permits) judge(spec tool.Spec, c model.Call, pre agenthook.Decision) permission.Decision {
	return turnhook.Judge(p.policy(), p.permissionRequest(spec, c), pre)
}

// askModel has a model decide what d asks about, if it may.
func (p *permits) askModel(ctx context.Context, c model.Call, d permission.Decision, again func() permission.Decision) (permission.Decision, error) {
	if p.h.c.opts.Auto == nil || d.Judge == permission.NotJudged {
		return d, nil
	}
	return p.h.c.opts.Auto.Decide(ctx, p.h.judged(), c, d, again)
}

func (p *permits) permissionRequest(spec tool.Spec, c model.Call) permission.Request {
	return permission.Request{Tool: spec.Name, Input: c.Input, ReadOnly: spec.ReadOnly, Cwd: p.h.t.Spec().Dir}
}

// askPermission asks the user about a call and waits for the resolution.
func (p *permits) askPermission(ctx context.Context, spec tool.Spec, c model.Call, d permission.Decision, pre agenthook.Decision) error {
	q := p.question(event.AsksPermission, c)
	q.Reason = d.Reason
	r := ask.Request{
		Record: func(s event.Resolution) error {
			return p.decide(c, report.ConsentOf(s.Answer.Allow), s)
		},
		Covered: func() bool { return p.judge(spec, c, pre).Behavior == permission.Allow },
	}
	if p.h.c.opts.Grant != nil {
		r.Grant = p.h.c.opts.Grant
		q.Rules = permission.Suggest(p.policy(), p.permissionRequest(spec, c))
	}
	return p.ask(ctx, state.WaitsForPermission, q, r, c)
}

// ask asks the user a question and returns when it is resolved. The agent holds no
// slot meanwhile.
func (p *permits) ask(ctx context.Context, what string, q event.Question, r ask.Request, c model.Call) error {
	consent, err := p.h.t.Consents().Ask(c.ID, p.h.c.opts.Policy.AskTimeout)
	if err != nil {
		return err
	}
	q.Asked, q.Expires = consent.Asked, consent.Expires
	r.Question = q
	ticket := p.h.c.questions.Open(r)
	p.h.watchdog.Pause()
	defer p.h.watchdog.Resume()
	p.h.c.work(func() {
		spec := p.h.t.Spec()
		p.h.c.opts.Hooks.Notification(p.h.c.scope, spec, "permission_prompt", agent.DisplayName(spec)+" asks about "+q.Tool)
	})
	return p.h.waitFor(ctx, what, func() error {
		p.h.c.publish(p.h.t, event.Asked{Question: ticket.Question()})
		s, err := ticket.Wait(ctx)
		p.h.c.publish(p.h.t, event.QuestionResolved{
			ID: ticket.Question().ID, State: string(s.State), Allow: s.Answer.Allow || s.State == event.QuestionCovered, By: s.By, Note: s.Answer.Note,
		})
		return err
	})
}

// decide records how a question about a call was resolved.
func (p *permits) decide(c model.Call, state transcript.ConsentState, s event.Resolution) error {
	d := transcript.Consent{State: state, By: s.By, Note: strings.TrimSpace(s.Answer.Note)}
	if s.State == event.QuestionExpired {
		d.State = transcript.ConsentExpired
	}
	if s.Answer.IsAnswer() {
		d.Answer = report.Detail(s.Answer)
	}
	return p.h.t.Consents().Decide(c.ID, d)
}

func (p *permits) question(kind event.QuestionKind, c model.Call) event.Question {
	return event.Question{
		ID: ids.Question(p.h.t.ID(), p.h.t.Record().Steps, c), Agent: agent.Describe(p.h.t.Spec()), Kind: kind, Tool: c.Name, Summary: report.CallSummary(c), Input: c.Input,
	}
}
