package swarm

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/nats-io/nats.go"
)

// handle answers a node. Events are told in their order; the rest may wait for
// the disk and must not hold up the others.
func (n *nodes) handle(m *nats.Msg) {
	part := strings.Split(m.Subject, ".")
	id, verb := mailbox.AgentID(part[3]), part[5]
	if verb == "event" {
		n.retell(id, m.Data)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed && verb != "report" {
		return
	}
	n.work.Go(func() {
		raw, err := json.Marshal(n.answer(id, verb, m.Data))
		if err == nil {
			err = respondInParts(n.s.wire.local, m, raw)
		}
		if err != nil {
			n.s.opts.Logger.Warn("a node could not be answered", "subject", m.Subject, "error", err)
		}
	})
}

func (n *nodes) answer(id mailbox.AgentID, verb string, raw []byte) any {
	if verb == "report" {
		var r nodeReport
		if err := json.Unmarshal(raw, &r); err != nil {
			return nodeWelcome{Leave: err.Error()}
		}
		return n.report(id, r)
	}
	var c nodeCall
	if err := json.Unmarshal(raw, &c); err != nil {
		return nodeReply{Error: err.Error()}
	}
	if err := n.current(id, c.Launch); err != nil {
		n.s.agents.Refused(id, "the request "+verb+" of its process", err)
		return nodeReply{Error: err.Error()}
	}
	out, err := n.do(id, verb, c)
	out.refuse(err)
	return out
}

// OldLaunchError reports a request of a process of an agent that has a later one.
type OldLaunchError struct {
	Agent  mailbox.AgentID
	Launch uint32
}

func (e *OldLaunchError) Error() string {
	return fmt.Sprintf("launch %d of %s is superseded: another process runs the agent now", e.Launch, e.Agent)
}

// current reports a launch that is not the newest of its agent. One that an
// earlier owner has started may ask before it has reported here.
func (n *nodes) current(id mailbox.AgentID, launch uint32) error {
	newest := uint32(0)
	if s := n.known(id); s != nil {
		newest = s.launch
	} else if t, ok := n.s.store.Get(id); ok && t.IsShadow() && !t.Life().Closed {
		newest = t.Life().Launch
	}
	if newest == 0 || launch != newest {
		return &OldLaunchError{Agent: id, Launch: launch}
	}
	return nil
}

// do does what the node of an agent asks for, in that agent's name.
func (n *nodes) do(id mailbox.AgentID, verb string, c nodeCall) (nodeReply, error) {
	me, ok := n.s.store.Get(id)
	if !ok {
		return nodeReply{}, &actors.UnknownAgentError{Name: string(id)}
	}
	switch verb {
	case "reserve":
		if c.Ask == nil {
			return nodeReply{}, errNoAnswer
		}
		return n.reserve(id, c)
	case "answer-shutdown":
		if c.Shutdown == nil {
			return nodeReply{}, errNoAnswer
		}
		return nodeReply{}, n.s.agents.AnswerShutdown(me, *c.Shutdown, c.Key)
	case "find":
		found, err := n.named(c.Name)
		return nodeReply{Found: found}, err
	case "abroad":
		t, err := n.s.abroad.Reach(c.Name, team.Letter{To: c.Name, Kind: c.Kind, Class: c.Class})
		if err != nil {
			return nodeReply{}, err
		}
		return nodeReply{Found: []transcript.Spec{t.Spec()}}, nil
	case "near":
		return nodeReply{Near: n.s.abroad.Near(c.Most)}, nil
	case "others":
		return nodeReply{Sight: &nodeSight{Staff: n.others(id)}}, nil
	}
	t, ok := n.s.agents.Find(c.Name)
	if !ok {
		return n.aboutBelow(verb, c)
	}
	return n.about(me, t, verb, c)
}

// named returns the agents that a name, an id or team/name means, those in other
// processes included: of several in the session's own process all.
func (n *nodes) named(name string) (found []transcript.Spec, err error) {
	for _, t := range n.s.agents.Named(name) {
		found = append(found, t.Spec())
	}
	if len(found) > 0 {
		return found, nil
	}
	a, err := n.s.Agent(name)
	if err != nil {
		return nil, err
	}
	return []transcript.Spec{a.Life.Spec}, nil
}

// others returns how the agents of the session are that live outside the process of
// one, but for those below others that were killed.
func (n *nodes) others(id mailbox.AgentID) []actors.Status {
	all := slices.DeleteFunc(n.s.agents.Status(), func(s actors.Status) bool { return s.Life.Spec.ID == id })
	return append(all, unkilled(n.staff(append(n.final(), id)...))...)
}

// aboutBelow is about for an agent that is not on record here.
func (n *nodes) aboutBelow(verb string, c nodeCall) (nodeReply, error) {
	a, _, err := n.below().find(c.Name, &actors.UnknownAgentError{Name: c.Name})
	switch {
	case err != nil:
		return nodeReply{}, err
	case verb == "life":
		return nodeReply{Life: &a.Life}, nil
	case verb == "wake":
		return nodeReply{}, n.wakeBelow(a.Life, c.By, c.Spec)
	}
	return nodeReply{}, &team.FarError{Name: actors.DisplayName(a.Life.Spec), With: a.Life.Spec.Parent}
}

// about does what an agent in another process asks for about another agent.
func (n *nodes) about(me, t *transcript.Transcript, verb string, c nodeCall) (nodeReply, error) {
	switch {
	case verb == "life":
		life := t.Life()
		return nodeReply{Life: &life}, nil
	case verb == "plan" && c.Plan != nil:
		return nodeReply{}, n.s.agents.DecidePlan(me, t, *c.Plan, c.Key)
	case verb == "dismiss" && c.Dismiss != nil:
		ending, err := n.s.agents.RequestShutdown(me, t, *c.Dismiss)
		return nodeReply{Ending: &ending}, err
	case verb == "wake":
		if err := n.s.agents.Wake(t, c.By); err != nil {
			return nodeReply{}, err
		}
		n.s.agents.Rouse(t.ID())
		return nodeReply{}, nil
	}
	return nodeReply{}, fmt.Errorf("there is no request %q of a node", verb)
}

// report takes a node's sign of life. A node that an earlier owner has started
// is taken over by it.
func (n *nodes) report(id mailbox.AgentID, r nodeReport) nodeWelcome {
	seat := n.seatOf(id, r)
	if seat == nil {
		return nodeWelcome{Leave: (&OldLaunchError{Agent: id, Launch: r.Launch}).Error()}
	}
	if t, ok := n.s.store.Get(id); ok && r.Life != nil {
		r.Life.Launch = r.Launch
		if err := n.s.agents.Observe(t, *r.Life); err != nil {
			n.s.opts.Logger.Warn("a report could not be recorded", "agent", id, "error", err)
		}
	}
	n.land(seat, r.Landed) // it is charged now
	seat.once.Do(func() { close(seat.alive) })
	n.s.agents.Stir()
	return n.welcome(seat, r)
}

func (n *nodes) seatOf(id mailbox.AgentID, r nodeReport) *seat {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	adopted := s == nil && !n.closed
	if adopted {
		s = n.adoptLocked(id, r)
	}
	if s == nil || s.launch != r.Launch {
		return nil
	}
	n.hearLocked(s, r)
	if adopted {
		n.announce(s, r)
	}
	return s
}

// announce tells those who follow the session what a process does and asks that was
// started for an earlier owner: it has told that one alone.
func (n *nodes) announce(s *seat, r nodeReport) {
	who := actors.Describe(s.spec)
	n.s.bus.Publish(who, event.StateChanged{To: r.State.Name, Reason: r.State.Detail})
	for _, q := range r.Questions {
		n.s.bus.Publish(q.Agent, event.Asked{Question: q})
	}
}

func (n *nodes) welcome(s *seat, r nodeReport) nodeWelcome {
	w := nodeWelcome{Spec: &s.spec, Attended: n.s.opts.Policy.Attended, AskTimeout: n.s.opts.Policy.AskTimeout}
	w.Bounded = n.s.agents.Bounded(s.spec.ID)
	if r.Life == nil {
		w.Env = n.environment()
	}
	n.s.infoMu.Lock()
	w.Granted = n.s.info.Granted
	n.s.infoMu.Unlock()
	all := n.s.store.All()
	if w.Count = len(all); w.Count != r.Known {
		for _, t := range all {
			if l := t.Life(); !l.Closed && l.Spec.ID != s.spec.ID && l.Spec.Role != transcript.User {
				w.Members = append(w.Members, l.Spec)
			}
		}
	}
	return w
}

// environment is what a node is to know beside its own environment, which in a
// pane is tmux's and not ours. It goes over the session's private socket only.
func (n *nodes) environment() map[string]string {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"ANTHROPIC_", "OPENAI_", "SWARM_", "CLAUDE_"} {
			if strings.HasPrefix(name, prefix) {
				env[name] = n.s.opts.Getenv(name)
			}
		}
	}
	return env
}

// retell publishes an event of a node here. Its mail facts come too: what
// arrives there does not arrive here.
func (n *nodes) retell(id mailbox.AgentID, raw []byte) {
	var told nodeEvent
	if err := json.Unmarshal(raw, &told); err != nil {
		n.s.opts.Logger.Warn("an event of a node cannot be read", "agent", id, "error", err)
		return
	}
	if n.current(id, told.Launch) != nil {
		return
	}
	e := told.Event
	if s, born := e.Fact.(event.Started); born && s.Prompt == "" && e.Agent.ID == id {
		return // it was told when the task was sent
	}
	if a, refused := e.Fact.(event.Audit); refused {
		n.s.audit.Note(a)
		return
	}
	n.s.bus.Publish(e.Agent, e.Fact)
}
