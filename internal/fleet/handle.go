package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// handlers answer the requests of the processes of agents.
type handlers struct{ *Fleet }

// serve registers the handlers. Events are published in their order.
func (f *Fleet) serve(conn *nats.Conn) error {
	h := handlers{f}
	s := rpc.NewServer(f.scope, rpc.ServerOptions{Log: f.options.Logger, Errors: workerapi.WorkerErrors(), Accept: h.accepts, Check: h.check})
	rpc.Handle(s, workerapi.UpReport, func(_ context.Context, c rpc.Caller, in workerapi.Report) (workerapi.ReportOut, error) {
		return h.report(mailbox.AgentID(c.Name), in), nil
	})
	rpc.HandleOneWay(s, workerapi.UpEvent, func(c rpc.Caller, in workerapi.Event) { h.republish(mailbox.AgentID(c.Name), in) })
	h.handleRequests(s)
	h.handleAgentRequests(s)
	f.server = s
	if err := s.Open(conn, workerapi.OwnerSubject(f.options.Record.Get().ID)); err != nil {
		return fmt.Errorf("listen to requests of the processes of agents: %w", err)
	}
	return nil
}

// accepts reports whether a request is answered. Reports are answered even while the
// session ends: the reply reports that.
func (h handlers) accepts(c rpc.Caller) bool {
	if c.Method == workerapi.UpReport.Name || c.Method == workerapi.UpEvent.Name {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.closed
}

// check refuses requests of a process that is not the newest of its agent.
func (h handlers) check(c rpc.Caller, data []byte) error {
	if c.Method == workerapi.UpReport.Name || c.Method == workerapi.UpEvent.Name {
		return nil // the reply reports that, or there is none
	}
	var in workerapi.LaunchIn
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	id := mailbox.AgentID(c.Name)
	err := h.checkLaunch(id, in.Launch)
	if err != nil {
		h.parts.Agents.Refused(id, "the request "+c.Method+" of its process", err)
	}
	return err
}

// oldLaunchError reports a request of a process of an agent that has a newer one.
type oldLaunchError struct {
	Agent  mailbox.AgentID
	Launch uint32
}

func (e *oldLaunchError) Error() string {
	return fmt.Sprintf("launch %d of %s is superseded: another process runs the agent now", e.Launch, e.Agent)
}

// checkLaunch returns an error if a launch is not the newest of its agent. A process of
// an earlier owner may make a request before it has reported here.
func (h handlers) checkLaunch(id mailbox.AgentID, launch uint32) error {
	newest := uint32(0)
	if p := h.proc(id); p != nil {
		newest = p.launch
	} else if t, ok := h.options.Store.Get(id); ok && t.IsReplica() && !t.Record().Closed {
		newest = t.Record().Launch
	}
	if newest == 0 || launch != newest {
		return &oldLaunchError{Agent: id, Launch: launch}
	}
	return nil
}

// handleRequests registers the requests that are not about another agent.
func (h handlers) handleRequests(s *rpc.Server) {
	rpc.Handle(s, workerapi.UpReserve, func(_ context.Context, c rpc.Caller, in workerapi.ReserveIn) (workerapi.ReserveOut, error) {
		if in.Request == nil {
			return workerapi.ReserveOut{}, workerapi.ErrNoAnswer
		}
		return h.reserve(mailbox.AgentID(c.Name), in)
	})
	rpc.Handle(s, workerapi.UpAnswerShutdown, func(_ context.Context, c rpc.Caller, in workerapi.AnswerShutdownIn) (rpc.None, error) {
		me, err := h.requester(c)
		switch {
		case err != nil:
			return rpc.None{}, err
		case in.Shutdown == nil:
			return rpc.None{}, workerapi.ErrNoAnswer
		}
		return rpc.None{}, h.parts.Agents.AnswerShutdown(me.ID(), *in.Shutdown, in.Key)
	})
	rpc.Handle(s, workerapi.UpFind, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (workerapi.FoundOut, error) {
		found, err := h.named(in.Name)
		return workerapi.FoundOut{Found: found}, err
	})
	rpc.Handle(s, workerapi.UpFindSession, func(_ context.Context, _ rpc.Caller, in workerapi.FindSessionIn) (workerapi.FoundOut, error) {
		t, err := h.parts.Sessions.Reach(in.Name, team.Message{To: in.Name, Kind: in.Kind, Class: in.Class})
		if err != nil {
			return workerapi.FoundOut{}, err
		}
		return workerapi.FoundOut{Found: []agent.Spec{t.Spec()}}, nil
	})
	rpc.Handle(s, workerapi.UpListSessions, func(_ context.Context, _ rpc.Caller, in workerapi.ListSessionsIn) (workerapi.ListSessionsOut, error) {
		return workerapi.ListSessionsOut{Sessions: h.parts.Sessions.Near(in.Max)}, nil
	})
	rpc.Handle(s, workerapi.UpListAgents, func(_ context.Context, c rpc.Caller, _ workerapi.LaunchIn) (workerapi.SnapshotOut, error) {
		return workerapi.SnapshotOut{Snapshot: &archive.Snapshot{Nested: h.agentsOutside(mailbox.AgentID(c.Name))}}, nil
	})
}

// handleAgentRequests registers the requests about another agent, which may live in a
// third process.
func (h handlers) handleAgentRequests(s *rpc.Server) {
	rpc.Handle(s, workerapi.UpRecord, func(_ context.Context, _ rpc.Caller, in workerapi.NameIn) (workerapi.RecordOut, error) {
		if t, ok := h.parts.Agents.Find(in.Name); ok {
			life := t.Record()
			return workerapi.RecordOut{Record: &life}, nil
		}
		a, err := h.findNested(in.Name)
		if err != nil {
			return workerapi.RecordOut{}, err
		}
		return workerapi.RecordOut{Record: &a.Record}, nil
	})
	rpc.Handle(s, workerapi.UpWake, func(_ context.Context, _ rpc.Caller, in workerapi.WakeIn) (rpc.None, error) {
		return rpc.None{}, h.wake(in)
	})
	rpc.Handle(s, workerapi.UpPlan, func(_ context.Context, c rpc.Caller, in workerapi.PlanIn) (rpc.None, error) {
		me, t, err := h.requesterAndTarget(c, in.Name)
		switch {
		case err != nil:
			return rpc.None{}, err
		case in.Plan == nil:
			return rpc.None{}, workerapi.ErrNoAnswer
		}
		return rpc.None{}, h.parts.Agents.DecidePlan(me.ID(), t.ID(), *in.Plan, in.Key)
	})
	rpc.Handle(s, workerapi.UpRequestShutdown, func(_ context.Context, c rpc.Caller, in workerapi.RequestShutdownIn) (workerapi.ShutdownOut, error) {
		me, t, err := h.requesterAndTarget(c, in.Name)
		switch {
		case err != nil:
			return workerapi.ShutdownOut{}, err
		case in.Dismiss == nil:
			return workerapi.ShutdownOut{}, workerapi.ErrNoAnswer
		}
		ending, err := h.parts.Agents.RequestShutdown(me.ID(), t.ID(), *in.Dismiss)
		return workerapi.ShutdownOut{Ending: &ending}, err
	})
}

// requester returns the agent in whose name a process makes a request.
func (h handlers) requester(c rpc.Caller) (*transcript.Transcript, error) {
	t, ok := h.options.Store.Get(mailbox.AgentID(c.Name))
	if !ok {
		return nil, &agent.UnknownError{Name: c.Name}
	}
	return t, nil
}

// requesterAndTarget returns the agent in whose name a process makes a request, and the
// agent that it names, which must be on record here.
func (h handlers) requesterAndTarget(c rpc.Caller, name string) (me, t *transcript.Transcript, err error) {
	if me, err = h.requester(c); err != nil {
		return nil, nil, err
	}
	if t, ok := h.parts.Agents.Find(name); ok {
		return me, t, nil
	}
	a, err := h.findNested(name)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, &team.RemoteAgentError{Name: agent.DisplayName(a.Record.Spec), With: a.Record.Spec.Parent}
}

// findNested returns an agent that lives in the process of another.
func (h handlers) findNested(name string) (actors.Status, error) {
	a, _, err := h.Tree().Find(name, &agent.UnknownError{Name: name})
	return a, err
}

func (h handlers) wake(in workerapi.WakeIn) error {
	t, ok := h.parts.Agents.Find(in.Name)
	if !ok {
		a, err := h.findNested(in.Name)
		if err != nil {
			return err
		}
		return h.Directory().wakeBy(a.Record, in.By, in.Spec)
	}
	if err := h.parts.Agents.Reopen(t.ID(), in.By); err != nil {
		return err
	}
	h.parts.Agents.EnsureProcess(t.ID())
	return nil
}

// named returns the agents that a name, an id or team/name means, including those in
// other processes. If several in the owner's process have the name, it returns all of
// them.
func (h handlers) named(name string) (found []agent.Spec, err error) {
	for _, t := range h.parts.Agents.Named(name) {
		found = append(found, t.Spec())
	}
	if len(found) > 0 {
		return found, nil
	}
	a, err := h.Agent(name)
	if err != nil {
		return nil, err
	}
	return []agent.Spec{a.Record.Spec}, nil
}

// agentsOutside returns the state of the agents outside of the process of id, except
// for nested ones that were killed.
func (h handlers) agentsOutside(id mailbox.AgentID) []actors.Status {
	all := slices.DeleteFunc(h.parts.Agents.Status(), func(s actors.Status) bool { return s.Record.Spec.ID == id })
	return append(all, archive.NotKilled(h.Directory().all(append(h.Directory().final(), id)...))...)
}

// report handles a report of a process. It takes over a process that an earlier owner
// has started.
func (h handlers) report(id mailbox.AgentID, r workerapi.Report) workerapi.ReportOut {
	p := h.reporter(id, r)
	if p == nil {
		return workerapi.ReportOut{Refusal: (&oldLaunchError{Agent: id, Launch: r.Launch}).Error()}
	}
	if t, ok := h.options.Store.Get(id); ok && r.Record != nil {
		r.Record.Launch = r.Launch
		if err := h.parts.Agents.Update(t.ID(), *r.Record); err != nil {
			h.options.Logger.Warn("a report could not be recorded", "agent", id, "error", err)
		}
	}
	h.endReservations(p, r.Charged)
	p.once.Do(func() { close(p.reportReceived) })
	h.parts.Agents.Notify()
	return h.replyTo(p, r)
}

func (h handlers) reporter(id mailbox.AgentID, r workerapi.Report) *proc {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.procs[id]
	adopted := p == nil && !h.closed
	if adopted {
		p = h.adoptLocked(id, r)
	}
	if p == nil || p.launch != r.Launch {
		return nil
	}
	h.recordReportLocked(p, r)
	if adopted {
		h.publishAdopted(p, r)
	}
	return p
}

// publishAdopted publishes the state and the questions of a process that was taken
// over: it has reported them to the earlier owner only.
func (h handlers) publishAdopted(p *proc, r workerapi.Report) {
	who := agent.Describe(p.spec)
	h.options.Events.Publish(who, event.StateChanged{To: r.State.Name, Reason: r.State.Detail})
	for _, q := range r.Questions {
		h.options.Events.Publish(q.Agent, event.Asked{Question: q})
	}
}

func (h handlers) replyTo(p *proc, r workerapi.Report) workerapi.ReportOut {
	w := workerapi.ReportOut{Spec: &p.spec, Attended: h.options.Attended, AskTimeout: h.options.AskTimeout}
	w.Bounded = h.parts.Agents.Bounded(p.spec.ID)
	if r.Record == nil {
		w.Env = h.environment()
	}
	w.Granted, w.Held = h.options.Record.Get().Granted, h.options.Held()
	all := h.options.Store.All()
	if w.Count = len(all); w.Count != r.Known {
		for _, t := range all {
			if l := t.Record(); !l.Closed && l.Spec.ID != p.spec.ID && l.Spec.Role != agent.User {
				w.Members = append(w.Members, l.Spec)
			}
		}
	}
	return w
}

// environment returns the variables of the session, for a process whose own environment is
// a list, as in a pane. They are sent over the session's private socket only.
func (h handlers) environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); name != "" && !slices.Contains(terminalVariables(), name) {
			env[name] = h.options.Getenv(name)
		}
	}
	return env
}

// terminalVariables are about the place where a process runs.
func terminalVariables() []string {
	return []string{"TERM", "COLORTERM", "TERM_PROGRAM", "COLUMNS", "LINES", "TMUX", "TMUX_PANE", "STY", "WINDOW", "PWD", "OLDPWD", "SHLVL", "_"}
}

// republish publishes an event of a process, including its events about mail: mail to
// its agents does not arrive here.
func (h handlers) republish(id mailbox.AgentID, told workerapi.Event) {
	if h.checkLaunch(id, told.Launch) != nil {
		return
	}
	e := told.Event
	if s, born := e.Fact.(event.Started); born && s.Prompt == "" && e.Agent.ID == id {
		return // the event was published when the task was sent
	}
	if a, refused := e.Fact.(event.Audit); refused {
		h.options.Audit(a)
		return
	}
	h.options.Events.Publish(e.Agent, e.Fact)
}
