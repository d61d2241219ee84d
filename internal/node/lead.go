package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/prompt"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/protocol"
)

// Lead manages the agent that the user talks with, which is created when it is first
// needed. Its methods may be called from any goroutine.
type Lead struct {
	options LeadOptions

	existed      bool // the session had a lead before this process
	begun, ended sync.Once

	mu      sync.Mutex // held while the lead is created or amended
	amended bool       // the options have been applied; guarded by mu
}

// LeadOptions configure NewLead. All but MaxTurns and Model are required.
type LeadOptions struct {
	Scope  context.Context // of the session: there is no lead after its end
	Store  *transcript.Store
	Agents *coordinator.Coordinator
	// Resolve returns the id of a model, or an error with the way to choose one.
	Resolve func(name string) (string, error)
	// CheckBudget returns an error if the session's budget cannot be enforced for a
	// model.
	CheckBudget func(model string) error
	Hooks       *agenthook.Hooks
	// Instructions returns the files of instructions in the prompts.
	Instructions func() []prompt.File
	// Tools returns the names of the tools that the lead is offered.
	Tools func() []string

	Model, Mode, Dir string
	MaxTurns         int
}

// NewLead returns a Lead without creating or reading the agent.
func NewLead(o LeadOptions) *Lead {
	_, existed := o.Store.Get(agent.LeadID)
	return &Lead{options: o, existed: existed}
}

// Get returns the lead's transcript and creates it in a new session. The first call for
// an existing lead applies the model, the mode and the limit in the options.
func (l *Lead) Get() (*transcript.Transcript, error) {
	if err := context.Cause(l.options.Scope); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t, ok := l.options.Store.Get(agent.LeadID); ok {
		if err := l.amend(t); err != nil {
			return nil, err
		}
		return t, l.options.CheckBudget(t.Spec().Model)
	}
	return l.create()
}

// create creates the lead. l.mu is held.
func (l *Lead) create() (*transcript.Transcript, error) {
	id, err := l.options.Resolve(l.options.Model)
	if err != nil {
		return nil, err
	}
	if err := l.options.CheckBudget(id); err != nil {
		return nil, err
	}
	spec := LeadSpec(id, l.options.Mode, l.options.Dir, l.options.MaxTurns, l.options.Tools())
	spec.Born = time.Now()
	t, wait, err := l.options.Store.Create(spec)
	if err != nil {
		return nil, err
	}
	l.amended = true
	return t, wait()
}

// LeadSpec returns the spec of a lead.
func LeadSpec(model, mode, dir string, maxTurns int, tools []string) agent.Spec {
	return agent.Spec{
		ID: agent.LeadID, Name: agent.LeadName, Type: "lead", Role: agent.Lead, Model: model,
		Mode: mode, MaxTurns: maxTurns, Dir: dir, Tools: tools,
	}
}

// amend applies the options to an existing lead, once: later choices take precedence.
// l.mu is held.
func (l *Lead) amend(lead *transcript.Transcript) error {
	if l.amended {
		return nil
	}
	mode := l.options.Mode
	if life := lead.Record(); mode == string(permission.Plan) && life.Plan.Phase == protocol.PlanApproved {
		mode = life.Spec.Mode // the plan is approved, so planning is over
	}
	err := lead.Amend(cmp.Or(l.options.Model, lead.Spec().Model), mode, l.options.MaxTurns)
	l.amended = err == nil
	return err
}

// Reopen makes a lead that was stopped work again, as mail does.
func (l *Lead) Reopen(lead *transcript.Transcript) error {
	err := l.options.Agents.Reopen(lead.ID(), agent.UserID)
	var final *actors.FinalError
	if errors.As(err, &final) {
		return fmt.Errorf("the lead has ended for good (%s); write to other agents by name, or start another session", final.Reason)
	}
	return err
}

// SetModel changes the lead's model from its next turn on.
func (l *Lead) SetModel(name string) error {
	lead, err := l.Get()
	if err != nil {
		return err
	}
	if err := l.options.CheckBudget(name); err != nil {
		return err
	}
	spec := lead.Spec()
	if err := l.options.Hooks.PreModelSwitch(l.options.Scope, spec, name); err != nil {
		return err
	}
	if err := lead.Amend(name, spec.Mode, spec.MaxTurns); err != nil {
		return err
	}
	l.options.Hooks.PostModelSwitch(l.options.Scope, lead.Spec(), spec.Model)
	return nil
}

// LastExchange returns the newest exchange of the user with the lead, both texts empty if
// there was none.
func (l *Lead) LastExchange() (e session.Exchange, err error) {
	lead, ok := l.options.Store.Get(agent.LeadID)
	if !ok {
		return e, nil
	}
	msgs, err := lead.Messages()
	if err != nil {
		return e, err
	}
	for i := len(msgs) - 1; i >= 0 && e.Prompt == ""; i-- {
		switch text := spoken(msgs[i]); {
		case msgs[i].Role() == model.RoleUser:
			e.Prompt = text
		case e.Answer == "":
			e.Answer = text
		}
	}
	return e, nil
}

// spoken is what a message holds of the user's or the model's own words.
func spoken(m model.Message) string {
	var parts []string
	for _, b := range m.Blocks() {
		if b.Type != "text" {
			continue
		}
		if text := turn.Unframe(b.Text); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}
