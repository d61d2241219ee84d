package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team/protocol"
)

// RemoteAgents runs agents in processes of their own. This process has a replica of
// each, which follows the reports of its process. The methods are called from any
// goroutine.
type RemoteAgents interface {
	// Launch starts the process of an agent, the nth, and returns at its first
	// report. After an error nothing of it is left.
	Launch(ctx context.Context, spec agent.Spec, n uint32) error
	// Join reports whether the nth process of an agent runs, started by an
	// earlier owner of the session.
	Join(ctx context.Context, spec agent.Spec, n uint32) bool
	// Stop ends the agent and all others in its process with a cause, and the process.
	// It returns when nothing of it runs.
	Stop(ctx context.Context, id mailbox.AgentID, cause error) error
	// Interrupt ends the turn that the agent is in.
	Interrupt(id mailbox.AgentID)
	// Compact is Coordinator.Compact.
	Compact(ctx context.Context, id mailbox.AgentID) error
	// DecidePlan is Coordinator.DecidePlan by an agent.
	DecidePlan(ctx context.Context, id, by mailbox.AgentID, r message.PlanApprovalResponse, key string) error
	// Idle reports whether the agent's process has no work, or there is no process.
	Idle(ctx context.Context, id mailbox.AgentID) bool
	// Snapshot returns the last report of the agent's process; false if there is none.
	Snapshot(id mailbox.AgentID) (Snapshot, bool)
	// Nested returns the other agents in an agent's process.
	Nested(id mailbox.AgentID) []actors.Status
	// Quiet reports whether none of the processes has work.
	Quiet(ctx context.Context) bool
}

// Snapshot is how an agent is in its process.
type Snapshot struct {
	State   state.State
	Running bool
	Unread  int
}

// Owner is the process that owns the session, as a worker uses it.
type Owner interface {
	// Find returns replicas of the agents that a name or id means there, also of those
	// in the processes of others: those of the session's team first. It returns none
	// if the owner does not answer.
	Find(name string) []*transcript.Transcript
	// Reopen is Coordinator.Reopen there.
	Reopen(id, by mailbox.AgentID) error
	// Self is the agent of this worker, in whose name it asks.
	Self() mailbox.AgentID
	// Record returns the record of an agent there.
	Record(id mailbox.AgentID) (agent.Record, error)
	// DecidePlan is Coordinator.DecidePlan there.
	DecidePlan(id mailbox.AgentID, r message.PlanApprovalResponse, key string) error
	// RequestShutdown is Coordinator.RequestShutdown there.
	RequestShutdown(id mailbox.AgentID, d actors.ShutdownOptions) (protocol.Shutdown, error)
	// AnswerShutdown is Coordinator.AnswerShutdown there, of the worker's agent.
	AnswerShutdown(r message.ShutdownResponse, key string) error
	// Reserve reserves a request in the budgets there that bound the worker's agent. It
	// returns how many tokens the answer may have. The caller calls done when it has
	// charged the request here. The errors are those of account.Account.Reserve.
	Reserve(ctx context.Context, k budget.Request) (output int64, done func(), err error)
}

var errNoRemote = errors.New("this process cannot run agents in processes of their own")

// replicas are the local copies of the agents that run in other processes.
type replicas struct {
	c         *Coordinator
	launching sync.Map // *sync.Mutex by agent: one launch of its process at a time
}

// createRemote makes an agent in a process of its own. The agent gets its transcript
// when its process has reported, so that a failed launch leaves nothing.
func (rs *replicas) createRemote(ctx context.Context, spec agent.Spec) (*transcript.Transcript, func() error, error) {
	if rs.c.opts.Remote == nil {
		rs.c.unreserve(spec)
		return nil, nil, errNoRemote
	}
	if err := rs.c.opts.Remote.Launch(ctx, spec, 1); err != nil {
		rs.c.unreserve(spec)
		return nil, nil, &actors.LaunchError{Name: agent.DisplayName(spec), Err: err}
	}
	t, _, err := rs.c.opts.Store.Create(spec)
	if err != nil {
		return nil, nil, errors.Join(err, rs.c.opts.Remote.Stop(ctx, spec.ID, err))
	}
	_, err = t.Launch()
	return t, func() error { return nil }, err
}

// sendTask sends the first task to an agent in another process, as mail of its parent.
// A repeated call sends the same message.
func (rs *replicas) sendTask(t *transcript.Transcript, prompt string) error {
	spec := t.Spec()
	from, ok := rs.c.opts.Store.Get(spec.Parent)
	if !ok {
		return fmt.Errorf("%s has no parent to get its task from", agent.DisplayName(spec))
	}
	e, durable, err := from.Send(mailbox.Envelope{
		ID: mailbox.ID("p-" + string(spec.ID)), To: mailbox.Address{Agent: spec.ID},
		FromName: agent.DisplayName(from.Spec()), ToName: agent.DisplayName(spec), Kind: mailbox.KindText,
		Summary: report.Cut(cmp.Or(spec.Description, report.OneLine(prompt)), 180), Body: prompt,
	})
	if err != nil {
		return err
	}
	rs.c.publish(from, event.MailSent{Envelope: e})
	return durable()
}

// relaunch starts the process of a remote agent again, unless it runs. It does not
// wait.
func (rs *replicas) relaunch(t *transcript.Transcript) {
	if rs.c.opts.Remote == nil || t.Spec().Where == agent.InOwner {
		return
	}
	rs.c.change(func() {
		if err := rs.launchAgain(t); err != nil && rs.c.scope.Err() == nil {
			rs.park(t, err)
		}
	})
}

func (rs *replicas) launchAgain(t *transcript.Transcript) error {
	lock, _ := rs.launching.LoadOrStore(t.ID(), &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	record := t.Record()
	if record.Closed || record.Shutdown.Leaving() || record.Launch > 0 && rs.c.opts.Remote.Join(rs.c.scope, record.Spec, record.Launch) {
		return nil
	}
	if rs.c.scope.Err() != nil {
		return context.Cause(rs.c.scope) // it is not known whether its process runs, so it is not replaced
	}
	n, err := t.Launch()
	if err != nil {
		return err
	}
	return rs.c.opts.Remote.Launch(rs.c.scope, t.Spec(), n)
}

// park parks an agent whose process cannot run, and reports that to the lead.
// A message to it tries again.
func (rs *replicas) park(t *transcript.Transcript, why error) {
	l, why := t.Record(), fmt.Errorf("%w: %w", turn.ErrRuntime, why)
	l.TurnOpen, l.Outcome, l.Reason = false, agent.Failed, why.Error()
	if _, _, err := t.Update(l); err != nil {
		why = errors.Join(why, err)
	}
	rs.c.publish(t, event.StateChanged{To: state.Parked, Reason: why.Error()})
	rs.c.publish(t, event.TurnEnded{Outcome: string(agent.Failed), Reason: why.Error(), Steps: l.TurnSteps})
	lead, ok := rs.c.opts.Store.Get(rs.c.Home(l.Spec).Lead)
	if !ok {
		return
	}
	if _, _, err := rs.outbox(t, lead).Send(mailbox.Envelope{
		To: mailbox.Address{Agent: lead.ID()}, FromName: agent.DisplayName(l.Spec), ToName: agent.DisplayName(lead.Spec()), Kind: mailbox.KindAgentReport,
		Summary: report.Summary(l), Body: "It cannot go on: " + why.Error() + "\nA message to it starts it again.",
	}); err != nil {
		rs.c.publish(t, event.Warning{Text: err.Error()})
	}
}

// outbox returns the agent in whose name this process writes about t to another agent:
// t, the other or the lead, the first that is no replica.
func (rs *replicas) outbox(t, to *transcript.Transcript) *transcript.Transcript {
	for _, from := range []*transcript.Transcript{t, to} {
		if !from.IsReplica() {
			return from
		}
	}
	if lead, ok := rs.c.opts.Store.Get(agent.LeadID); ok {
		return lead
	}
	return t
}

// ProcessLost records that the process of an agent has ended without being asked to.
// The process is started again, or the agent is parked if again is false.
func (rs *replicas) ProcessLost(id mailbox.AgentID, why error, again bool) {
	t, ok := rs.c.opts.Store.Get(id)
	if !ok || t.Record().Closed || rs.c.scope.Err() != nil {
		return
	}
	if !again {
		rs.c.change(func() { rs.park(t, why) })
		return
	}
	rs.c.publish(t, event.Warning{Text: fmt.Sprintf("the process of %s ended and is started again: %v", agent.DisplayName(t.Spec()), why)})
	rs.relaunch(t)
}

// ProcessSilent records that the process of an agent has not reported since then. It
// returns the state of the agent until ProcessRecovered.
func (rs *replicas) ProcessSilent(id mailbox.AgentID, since time.Time) state.State {
	s := state.State{Name: state.Stuck, Detail: "its process has said nothing since " + since.Format(time.TimeOnly), Since: time.Now(), Progress: since}
	if t, ok := rs.c.opts.Store.Get(id); ok {
		rs.c.publish(t, event.StateChanged{To: s.Name, Reason: s.Detail})
	}
	return s
}

// ProcessRecovered records that a process which was silent reports again, and its state.
func (rs *replicas) ProcessRecovered(id mailbox.AgentID, now state.State) {
	if t, ok := rs.c.opts.Store.Get(id); ok {
		rs.c.publish(t, event.StateChanged{From: state.Stuck, To: now.Name, Reason: now.Detail})
	}
}

// Update updates a replica with a report of its process, and charges what the agent has
// used since the last one.
func (rs *replicas) Update(id mailbox.AgentID, l agent.Record) error {
	t, err := rs.c.transcript(id)
	if err != nil {
		return err
	}
	was, is, err := t.Update(l)
	if err != nil {
		return err
	}
	rs.c.accounts.Of(t.ID()).Charge(rs.c.accounts.UsedBy(is).Minus(rs.c.accounts.UsedBy(was)))
	rs.c.moves.Add(1)
	rs.c.Notify()
	return nil
}

// Register adds a replica of an agent that the session's owner hosts.
func (rs *replicas) Register(spec agent.Spec) error {
	if _, ok := rs.c.opts.Store.Get(spec.ID); ok {
		return nil
	}
	spec.Where = agent.InOwner
	t, _, err := rs.c.opts.Store.Create(spec)
	if err != nil {
		if _, ok := rs.c.opts.Store.Get(spec.ID); ok {
			return nil // it was added meanwhile
		}
		return err
	}
	rs.c.registry.Add(t.Record())
	return nil
}

// replica returns an agent if it is a replica.
func (rs *replicas) replica(id mailbox.AgentID) (*transcript.Transcript, bool) {
	t, ok := rs.c.opts.Store.Get(id)
	if !ok || rs.c.opts.Remote == nil || !t.IsReplica() {
		return nil, false
	}
	return t, true
}

// completeRemote completes the status of a remote agent with the last report.
func (rs *replicas) completeRemote(s *actors.Status) {
	if s.Record.Spec.Where == "" || rs.c.opts.Remote == nil {
		return
	}
	if seen, ok := rs.c.opts.Remote.Snapshot(s.Record.Spec.ID); ok {
		s.Running, s.Unread = seen.Running, seen.Unread
		if seen.State.Name != "" {
			s.State = seen.State
		}
	}
}

// allQuiet is isQuiet for this process and all others of the session.
func (c *Coordinator) allQuiet(ctx context.Context) bool {
	if !c.isQuiet() {
		return false
	}
	if c.opts.Remote == nil {
		return true
	}
	before := c.moves.Load()
	return c.opts.Remote.Quiet(ctx) && c.isQuiet() && c.moves.Load() == before
}

// IsQuiet reports whether the agents of this process are started and have no work, and the
// number of changes so far: two calls that return the same number saw no change between.
func (c *Coordinator) IsQuiet() (bool, uint64) {
	return c.live.Load() && c.isQuiet(), c.moves.Load()
}

// EnsureProcess starts the process of a remote agent if there is none, so that the agent
// reads its mail. For other agents it does nothing.
func (rs *replicas) EnsureProcess(id mailbox.AgentID) {
	if to, ok := rs.replica(id); ok && rs.c.live.Load() {
		if _, lives := rs.c.opts.Remote.Snapshot(to.ID()); !lives {
			rs.relaunch(to)
		}
	}
}
