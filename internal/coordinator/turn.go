package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/autojudge"
	"github.com/actorswarm/swarm/internal/coordinator/stall"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/coordinator/watchdog"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// kit is what every turn of an agent needs. It is made at the first turn, so
// that an agent that only waits costs nothing of it. The system and tool blocks
// are the conversation's: they leave memory with it.
type kit struct {
	tools  *tool.Set
	close  func() error
	base   model.Request
	model  model.Model
	chosen string // the name of model
}

// maxTokens is the most that one answer may hold.
const maxTokens = 32_000

// turn runs one turn of the agent and reports its end.
func (h *host) turn(ctx context.Context) ending {
	watched, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	t := h.newTurn(cut)
	h.current.Store(t)
	defer h.current.Store(nil)
	h.stall.Begins(h.t.Unread())
	end, err := h.run(watched, t)
	switch {
	case err != nil:
		return h.runtimeFailed(err)
	case end.Open:
		return suspended
	}
	if next := h.stall.Ended(end.Outcome == agent.Failed, h.t.Unread()); next.Tries > 0 {
		retry(h, next)
	}
	return h.finishTurn(ctx)
}

// retry lets the mail on which the agent's turns fail begin another one later.
func retry(h *host, next stall.Retry) {
	if next.Tries == 2 {
		h.emit(event.Warning{Text: next.Warning(agent.DisplayName(h.t.Spec()))})
	}
	h.c.work(func() {
		if h.stall.Await(next, h.ended, h.c.scope.Done()) {
			h.ref.Tell(wakeUp{})
		}
	})
}

// log returns the log of the turn, in which the reports of an agent in mode auto are
// reviewed.
func (h *host) log() turn.Log {
	if h.c.opts.Auto == nil || h.t.Spec().Role == agent.Lead || !h.permits.policy().Mode.Judged() {
		return h.t
	}
	return h.c.opts.Auto.Review(h.t, func() (context.Context, autojudge.Agent) { return h.turnContext, h.judged() })
}

// judged returns the agent for a model that judges its work.
func (h *host) judged() autojudge.Agent {
	return autojudge.Agent{Log: h.t.Judging(), Emit: h.emit, Pause: h.pauseDeadlines, Denied: h.hooks.PermissionDenied, ReadOnly: func(name string) bool {
		unit, ok := h.kit.tools.Lookup(name)
		return ok && unit.Spec().ReadOnly
	}}
}

// newTurn returns the next turn of the agent, which a watchdog may cut.
func (h *host) newTurn(cut context.CancelCauseFunc) *turn.Turn {
	h.watchdog = watchdog.New(h.c.opts.Policy.Deadlines.For(h.t.Spec().Role), cut)
	t := &turn.Turn{
		Log:            h.log(),
		Prepare:        h.prepare,
		Permit:         h.permits.permit,
		Hooks:          h.hooks,
		Admit:          h.admit,
		Emit:           h.emit,
		OnEvent:        h.streamed,
		OnRead:         h.read,
		MaxSteps:       h.t.Spec().MaxTurns,
		LastTurn:       endsByItself(h.t.Spec().Role),
		Facts:          h.facts,
		TranscriptPath: h.c.opts.Store.TranscriptPath(h.t.ID()),
		CompactRequest: h.compactions.take,
		ObjectPath:     func(ref mailbox.Ref) string { return h.c.opts.MailPath(h.t.ID(), ref) },
		StopAfterCalls: h.pause,
	}
	if spill := h.c.opts.Spill; spill != nil {
		t.Spill = func(id, text string) (string, error) { return spill(h.t.ID(), id, text) }
	}
	return t
}

// runtimeFailed records that the runtime failed the agent.
func (h *host) runtimeFailed(err error) ending {
	h.failure = err
	h.emit(event.Warning{Text: err.Error()})
	return failed
}

// run is the part of a turn that needs a slot. A panic releases the slot too.
func (h *host) run(ctx context.Context, t *turn.Turn) (turn.End, error) {
	defer h.slot.Release()
	defer h.watchdog.Stop()
	ctx, end := h.c.accounts.Of(h.t.ID()).WithDeadline(ctx, overBudget)
	defer end()
	h.turnContext = ctx
	return t.Run(ctx)
}

// prepare waits for a slot and sets the turn up.
func (h *host) prepare(ctx context.Context, turn *turn.Turn) error {
	if err := h.acquireSlot(ctx); err != nil {
		return err
	}
	h.watchdog.Begin()
	if h.kit == nil {
		h.moveTo(state.Starting, "")
	}
	if !h.woken {
		incarnation, err := h.t.Wake()
		if err != nil {
			return err
		}
		if err := h.isolate(ctx, incarnation); err != nil {
			return err
		}
		if err := h.hooks.Begin(ctx); err != nil {
			return err
		}
		h.woken = true
	}
	if h.kit == nil {
		kit, err := h.newKit()
		if err != nil {
			return err
		}
		h.kit = kit
	}
	if err := h.choose(h.kit); err != nil {
		return err
	}
	turn.Model, turn.Base, turn.Tools = h.kit.model, h.kit.base, h.kit.tools
	if window := h.c.opts.Window; window != nil {
		turn.Window = window(h.kit.base.Model)
	}
	record := h.t.Record()
	turn.Base.Caller.Turn = record.Turns
	if record.TurnOpen { // else it is opened by a message, and those are of the turn before
		turn.StepsBefore = record.TurnSteps
	}
	var err error
	turn.Base.System, turn.Base.Tools, err = h.t.Setup(func() (system, tools []json.RawMessage) {
		return h.setup(record.Spec, h.kit.tools)
	})
	return err
}

func (h *host) newKit() (*kit, error) {
	spec := h.t.Spec()
	if _, _, err := h.c.opts.Model(spec.Model); err != nil {
		return nil, err // before something is made that has to be closed
	}
	box := h.c.opts.Tools(Agent{h.t, spec})
	k := &kit{tools: h.tools(spec, box), close: box.Close}
	k.base = model.Request{
		MaxTokens: maxTokens, Effort: spec.Effort,
		Caller: model.Caller{AgentID: string(spec.ID), Agent: agent.DisplayName(spec), Type: spec.Type},
	}
	return k, nil
}

// choose gives the kit the model that the agent has now: the user may have
// chosen another since its last turn.
func (h *host) choose(k *kit) error {
	name := h.t.Spec().Model
	if k.model != nil && k.chosen == name {
		return nil
	}
	m, id, err := h.c.opts.Model(name)
	if err != nil {
		return err
	}
	k.model, k.base.Model, k.chosen = m, id, name
	return nil
}

// tools returns the tools of the agent, in a fixed order.
func (h *host) tools(spec agent.Spec, box Toolbox) *tool.Set {
	all := slices.Concat(box.Tools, []tool.Tool{
		tools.NewAgent(spawner{h, spec}, h.c.opts.Policy.MaxPerAnswer), tools.NewStop(controller{h}), tools.NewOutput(controller{h}),
		tools.NewQuestion(asker{h}), tools.NewEnterPlan(planner{asker{h}}), tools.NewExitPlan(planner{asker{h}}),
	})
	names := spec.Tools
	if spec.PlanRequired { // it has no other way to go to work
		names = append(slices.Clip(names), tools.ExitPlanName)
	}
	return tool.NewSet(all...).Only(names)
}

// closeTools ends the commands that the agent's tools left running.
func (h *host) closeTools() {
	if h.kit == nil || h.kit.close == nil {
		return
	}
	if err := h.kit.close(); err != nil {
		h.emit(event.Warning{Text: fmt.Sprintf("what %s left running could not be ended: %v", agent.DisplayName(h.t.Spec()), err)})
	}
	h.kit = nil
}

// setup encodes the blocks with which every request of the agent begins.
func (h *host) setup(spec agent.Spec, set *tool.Set) (system, tools []json.RawMessage) {
	def := h.c.definition(spec)
	for _, text := range h.c.opts.System(spec, def) {
		system = append(system, model.EncodeSystem(text))
	}
	for _, t := range set.All() {
		s := t.Spec()
		tools = append(tools, model.EncodeTool(s.Name, s.Description, s.Schema))
	}
	return system, tools
}

// ToolNames returns the names of every tool an agent of this session can have.
func (c *Coordinator) ToolNames() []string {
	names := slices.Concat(c.opts.ToolNames(), tools.Names())
	if c.opts.Denied == nil {
		return names
	}
	return slices.DeleteFunc(names, c.opts.Denied)
}

// emit publishes a fact of the turn and updates the agent's state.
func (h *host) emit(f event.Fact) {
	h.follow(f)
	if h.watchdog != nil {
		h.watchdog.Observe(f, h.waitsForOthers(f))
	}
	h.c.publish(h.t, f)
	h.progress(f)
}

// waitsForOthers reports whether a fact is the start of a call without a deadline.
func (h *host) waitsForOthers(f event.Fact) bool {
	began, ok := f.(event.CallStarted)
	if !ok {
		return false
	}
	unit, _ := h.kit.tools.Lookup(began.Call.Name)
	return tools.Waits(unit)
}

// streamed follows the stream of a request, which is not published.
func (h *host) streamed(e model.Event) {
	h.watchdog.Stream(e)
	switch e.Kind {
	case model.Sent:
		if h.now().Name == state.Compacting {
			h.follow(event.Delta{})
			break
		}
		h.moveTo(state.Thinking, "")
	case model.Growing, model.CallStarted:
		h.follow(event.Delta{})
	}
}

// read sends the receipts of messages that a request now carries.
func (h *host) read(mail []mailbox.Envelope) {
	me, spec := h.t.Address(), h.t.Spec()
	for _, e := range mail {
		if e.From.Agent == agent.LeadID || e.From.Agent == agent.UserID || h.c.registry.Leads(e.From.Agent, spec) {
			h.asked.Store(true)
		}
		if h.c.opts.Receipt != nil {
			h.c.opts.Receipt(readReceipt(me, e))
		}
	}
}

// acquireSlot waits for a slot. The lead needs none.
func (h *host) acquireSlot(ctx context.Context) error {
	if h.t.Spec().Role == agent.Lead || h.slot.TryAcquire() {
		return nil
	}
	h.moveTo(state.Queued, "")
	if err := h.slot.Acquire(ctx); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	h.moveTo(state.Starting, "")
	return nil
}

// waitForChild runs wait while the agent holds no slot: its child may need it.
func (h *host) waitForChild(ctx context.Context, wait func() error) error {
	return h.waitFor(ctx, state.WaitsForChild, wait)
}

// waitFor runs wait. The agent holds no slot meanwhile, and its state says what it waits
// for.
func (h *host) waitFor(ctx context.Context, what string, wait func() error) error {
	h.slot.Yield()
	h.moveTo(state.Waiting, what)
	err := wait()
	if !h.slot.Done() {
		return err
	}
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return errors.Join(err, h.acquireSlot(ctx))
	case errors.Is(cause, turn.ErrPreempted): // only the step ends
		return errors.Join(err, h.acquireSlot(h.turnContext))
	}
	return err
}
