package swarm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agent"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool/builtin"
	"github.com/nats-io/nats.go"
)

// How long the processes of agents may take.
const (
	firstSignWithin = time.Minute      // from the start of a process to its first report
	joinWithin      = 10 * time.Second // for a process of an earlier owner to report
	beat            = 2 * time.Second  // from one report to the next, at the latest
	silence         = 15 * time.Second // without a report, after which a process counts as lost
	askNodeWithin   = 3 * time.Second  // for an answer of a process
)

// nodes are the processes in which agents of this session run: the
// actors.Elsewhere of the process that owns the session.
type nodes struct {
	s     *Session
	exec  executor.Executor
	argv  []string // begins the command line of a node
	first time.Duration
	quiet time.Duration // silence
	sub   *nats.Subscription

	work sync.WaitGroup

	mu     sync.Mutex
	seats  map[mailbox.AgentID]*seat       // guarded by mu
	fell   map[mailbox.AgentID][]time.Time // when processes were lost; guarded by mu
	closed bool                            // guarded by mu
}

// seat is the process of one agent, as its owner sees it.
type seat struct {
	spec    transcript.Spec
	launch  uint32
	process *executor.Process // nil until it was started; guarded by nodes.mu
	alive   chan struct{}     // closed at the first report
	once    sync.Once
	said    nodeReport // guarded by nodes.mu
	heard   time.Time  // guarded by nodes.mu
	leaving bool       // it was asked to end; guarded by nodes.mu
}

// nodeReport is what a node says at each sign of life.
type nodeReport struct {
	Launch    uint32           `json:"launch"`
	PID       int              `json:"pid"`
	Life      *transcript.Life `json:"life,omitempty"`
	State     actors.State     `json:"state"`
	Running   bool             `json:"running,omitempty"`
	Unread    int              `json:"unread,omitempty"`
	Questions []Question       `json:"questions,omitempty"`
	Known     int              `json:"known"` // agents that the node has heard of
}

// nodeWelcome is the answer to a report.
type nodeWelcome struct {
	Leave      string            `json:"leave,omitempty"` // why the node must end
	Spec       *transcript.Spec  `json:"spec,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Attended   bool              `json:"attended,omitempty"`
	AskTimeout time.Duration     `json:"ask_timeout,omitempty"`
	Granted    []string          `json:"granted,omitempty"`
	Members    []transcript.Spec `json:"members,omitempty"`
	Count      int               `json:"count"` // of agents of the session
}

// nodeCall is a request between a node and the owner of its session.
type nodeCall struct {
	Name   string          `json:"name,omitempty"`
	By     mailbox.AgentID `json:"by,omitempty"`
	Cause  string          `json:"cause,omitempty"`
	Launch uint32          `json:"launch"`
	Answer *Answer         `json:"answer,omitempty"`
}

type nodeReply struct {
	Error string           `json:"error,omitempty"`
	Spec  *transcript.Spec `json:"spec,omitempty"`
	Life  *transcript.Life `json:"life,omitempty"`
	Quiet bool             `json:"quiet,omitempty"`
	Moves uint64           `json:"moves,omitempty"`
}

func nodeSubject(session string, id, way, verb string) string {
	return "sw." + session + ".node." + id + "." + way + "." + verb
}

func newNodes(s *Session) *nodes {
	n := &nodes{
		s: s, argv: s.opts.TeammateCommand, first: cmp.Or(s.opts.firstSign, firstSignWithin), quiet: cmp.Or(s.opts.silence, silence),
		seats: map[mailbox.AgentID]*seat{}, fell: map[mailbox.AgentID][]time.Time{}, exec: s.opts.executor,
	}
	if n.exec == nil {
		n.exec = n.chooseExecutor()
	}
	return n
}

// settleNodes says where agents may run: in the process that owns the session,
// as the options or the agents that there are want it.
func (s *Session) settleNodes(o *actors.Options) {
	if n := s.opts.node; n != nil {
		o.Owner, o.Grant, o.Policy.Where = n, nil, ""
		return
	}
	lives := slices.ContainsFunc(s.store.All(), (*transcript.Transcript).IsShadow)
	if s.opts.Policy.Where == "" && !lives {
		return
	}
	s.nodes = newNodes(s)
	o.Elsewhere = s.nodes
}

// chooseExecutor falls back to processes without a pane: what comes out is the
// same.
func (n *nodes) chooseExecutor() executor.Executor {
	if n.s.opts.Policy.Where != transcript.InTmux {
		return executor.Plain{}
	}
	t, err := executor.NewTmux(n.s.info.ID, n.s.opts.Getenv)
	if err != nil {
		n.s.notes = append(n.s.notes, fmt.Sprintf("teammates run without panes: %v", err))
		return executor.Plain{}
	}
	if how := t.Attach(); how != "" {
		n.s.notes = append(n.s.notes, "the teammates' panes are shown by: "+how)
	}
	return t
}

// open begins to listen to the nodes.
func (n *nodes) open(conn *nats.Conn) (err error) {
	n.sub, err = conn.Subscribe(nodeSubject(n.s.info.ID, "*", "up", "*"), n.handle)
	if err != nil {
		return fmt.Errorf("listen to the processes of agents: %w", err)
	}
	return nil
}

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
			err = m.Respond(raw)
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
		return nodeReply{Error: err.Error()}
	}
	out, err := n.do(verb, c)
	if err != nil {
		out.Error = err.Error()
	}
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

func (n *nodes) current(id mailbox.AgentID, launch uint32) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s := n.seats[id]; s == nil || s.launch != launch {
		return &OldLaunchError{Agent: id, Launch: launch}
	}
	return nil
}

func (n *nodes) do(verb string, c nodeCall) (nodeReply, error) {
	switch verb {
	case "find":
		t, ok := n.s.agents.Find(c.Name)
		if !ok {
			return nodeReply{}, nil
		}
		spec := t.Spec()
		return nodeReply{Spec: &spec}, nil
	case "wake":
		t, ok := n.s.agents.Find(c.Name)
		if !ok {
			return nodeReply{}, &actors.UnknownAgentError{Name: c.Name}
		}
		if err := n.s.agents.Wake(t, c.By); err != nil {
			return nodeReply{}, err
		}
		n.s.agents.Sent(t, mailbox.Envelope{To: mailbox.Address{Agent: t.ID()}})
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
		if err := n.s.agents.Observe(t, *r.Life); err != nil {
			n.s.opts.Logger.Warn("a report could not be recorded", "agent", id, "error", err)
		}
	}
	seat.once.Do(func() { close(seat.alive) })
	n.s.agents.Stir()
	return n.welcome(seat, r)
}

func (n *nodes) seatOf(id mailbox.AgentID, r nodeReport) *seat {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	if s == nil && !n.closed {
		s = n.adoptLocked(id, r)
	}
	if s == nil || s.launch != r.Launch {
		return nil
	}
	s.said, s.heard = r, time.Now()
	return s
}

// adoptLocked takes over a node of an earlier owner, if it is the newest of its
// agent. mu is held.
func (n *nodes) adoptLocked(id mailbox.AgentID, r nodeReport) *seat {
	t, ok := n.s.store.Get(id)
	if !ok {
		return nil
	}
	l := t.Life()
	if l.Spec.Where == "" || l.Closed || l.Launch != r.Launch {
		return nil
	}
	s := &seat{spec: l.Spec, launch: r.Launch, alive: make(chan struct{}), heard: time.Now()}
	s.process = executor.Adopt(n.s.scope, r.PID, n.lock(id))
	n.seats[id] = s
	n.work.Go(func() { n.watch(s) })
	return s
}

func (n *nodes) welcome(s *seat, r nodeReport) nodeWelcome {
	w := nodeWelcome{Spec: &s.spec, Attended: n.s.opts.Policy.Attended, AskTimeout: n.s.opts.Policy.AskTimeout}
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
	if n.known(id) == nil {
		return
	}
	var e event.Event
	if err := json.Unmarshal(raw, &e); err != nil {
		n.s.opts.Logger.Warn("an event of a node cannot be read", "agent", id, "error", err)
		return
	}
	if s, born := e.Fact.(event.Started); born && s.Prompt == "" && e.Agent.ID == id {
		return // it was told when the task was sent
	}
	n.s.bus.Publish(e.Agent, e.Fact)
}

func (n *nodes) known(id mailbox.AgentID) *seat {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seats[id]
}

func (n *nodes) dir(id mailbox.AgentID) string {
	return filepath.Join(n.s.info.Path, "nodes", string(id))
}

func (n *nodes) lock(id mailbox.AgentID) string { return filepath.Join(n.dir(id), "lock") }

// Launch implements actors.Elsewhere.
func (n *nodes) Launch(ctx context.Context, spec transcript.Spec, launch uint32) error {
	if err := n.s.wire.isServed(ctx); err != nil {
		return err
	}
	s := &seat{spec: spec, launch: launch, alive: make(chan struct{})}
	if err := n.take(ctx, s); err != nil {
		return err
	}
	err := n.begin(ctx, s)
	if err == nil {
		err = n.firstSign(ctx, s)
	}
	if err != nil {
		return errors.Join(err, n.clear(ctx, s))
	}
	if !n.begun(func() { n.watch(s) }) {
		return errors.Join(actors.ErrShutDown, n.clear(ctx, s))
	}
	return nil
}

// begun runs f in a goroutine that close waits for, unless it has begun.
func (n *nodes) begun(f func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	n.work.Go(f)
	return true
}

// take gives a seat to a launch. A process that still has it is ended first: it
// holds the agent's journal.
func (n *nodes) take(ctx context.Context, s *seat) error {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return actors.ErrShutDown
	}
	old := n.seats[s.spec.ID]
	n.seats[s.spec.ID] = s
	n.mu.Unlock()
	if old != nil && old.process != nil {
		return old.process.Kill(ctx)
	}
	return nil
}

func (n *nodes) begin(ctx context.Context, s *seat) error {
	if err := os.MkdirAll(n.dir(s.spec.ID), 0o700); err != nil {
		return stateError(n.s.info.Path, err)
	}
	args, err := n.command(s)
	if err != nil {
		return err
	}
	p, err := n.exec.Start(ctx, executor.Command{
		Args: args, Dir: s.spec.Dir, Log: n.log(s.spec.ID), Lock: n.lock(s.spec.ID),
		Name: actors.DisplayName(s.spec), Color: s.spec.Color,
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.process = p
	return nil
}

func (n *nodes) log(id mailbox.AgentID) string { return filepath.Join(n.dir(id), "log") }

func (n *nodes) command(s *seat) ([]string, error) {
	argv := n.argv
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find the program that runs a teammate: %w", err)
		}
		argv = []string{self, "teammate"}
	}
	args := slices.Concat(argv, []string{
		"--agent-id", string(s.spec.ID), "--agent-name", actors.DisplayName(s.spec), "--team-name", n.s.policy().Team,
		"--agent-color", s.spec.Color, "--agent-type", s.spec.Type, "--parent-session-id", n.s.info.ID,
		"--launch", strconv.Itoa(int(s.launch)), "--state-dir", n.s.opts.StateDir,
	})
	return args, nil
}

// firstSign waits for the first report of a process.
func (n *nodes) firstSign(ctx context.Context, s *seat) error {
	limit := time.NewTimer(n.first)
	defer limit.Stop()
	select {
	case <-s.alive:
		return nil
	case <-s.process.Gone():
		return fmt.Errorf("it ended at once: %s", n.lastWords(s.spec.ID))
	case <-limit.C:
		return fmt.Errorf("it said nothing for %v", n.first)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-n.s.scope.Done():
		return context.Cause(n.s.scope)
	}
}

// lastWords is the end of what a process without a pane wrote.
func (n *nodes) lastWords(id mailbox.AgentID) string {
	raw, err := os.ReadFile(n.log(id))
	if raw = bytes.TrimSpace(raw); err != nil || len(raw) == 0 {
		return "it wrote nothing"
	}
	if i := bytes.LastIndexByte(raw, '\n'); i >= 0 {
		raw = raw[i+1:]
	}
	return firstLine(string(raw), 300)
}

// clear takes back a launch that came to nothing: the process, its pane, its
// commands and, of an agent that was never born, its directory.
func (n *nodes) clear(ctx context.Context, s *seat) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err := n.end(ctx, s)
	if _, born := n.s.store.Get(s.spec.ID); !born {
		err = errors.Join(err, os.RemoveAll(n.dir(s.spec.ID)))
	}
	return err
}

// end kills what is left of a process and gives its seat back.
func (n *nodes) end(ctx context.Context, s *seat) error {
	n.mu.Lock()
	s.leaving = true
	p := s.process
	if n.seats[s.spec.ID] == s {
		delete(n.seats, s.spec.ID)
	}
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	err := p.Kill(ctx)
	// What its commands left behind; where that cannot be found, they end with it.
	if _, reaped := builtin.Reap(n.s.info.ID); reaped != nil && !errors.Is(reaped, errors.ErrUnsupported) {
		err = errors.Join(err, reaped)
	}
	return err
}

// watch sees to it that a process that ends, or that says nothing any more, is
// followed by another.
func (n *nodes) watch(s *seat) {
	tick := time.NewTicker(min(beat, n.quiet/2))
	defer tick.Stop()
	for {
		select {
		case <-s.process.Gone():
			n.lost(s, fmt.Errorf("it ended: %s", n.lastWords(s.spec.ID)))
			return
		case <-tick.C:
			if !n.isSilent(s) {
				continue
			}
			n.lost(s, fmt.Errorf("it said nothing for %v", n.quiet))
			return
		case <-n.s.scope.Done():
			return
		}
	}
}

func (n *nodes) isSilent(s *seat) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(s.heard) > n.quiet
}

func (n *nodes) lost(s *seat, why error) {
	n.mu.Lock()
	leaving := s.leaving || n.closed || n.seats[s.spec.ID] != s
	again := !leaving && n.mayAgainLocked(s.spec.ID)
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.s.scope), closeWithin)
	defer cancel()
	if err := n.end(ctx, s); err != nil {
		why = errors.Join(why, err)
	}
	if !leaving {
		n.s.agents.Lost(s.spec.ID, why, again)
	}
	n.s.agents.Stir()
}

// An agent's process is started again at most so often within a while.
const (
	mostFalls = 3
	fallsIn   = time.Minute
)

func (n *nodes) mayAgainLocked(id mailbox.AgentID) bool {
	now := time.Now()
	n.fell[id] = append(slices.DeleteFunc(n.fell[id], func(t time.Time) bool { return now.Sub(t) > fallsIn }), now)
	return len(n.fell[id]) <= mostFalls
}

// Join implements actors.Elsewhere.
func (n *nodes) Join(ctx context.Context, spec transcript.Spec, launch uint32) bool {
	limit := time.NewTimer(joinWithin)
	defer limit.Stop()
	tick := time.NewTicker(beat / 20)
	defer tick.Stop()
	for {
		if s := n.known(spec.ID); s != nil {
			return s.launch == launch
		}
		if !executor.Held(n.lock(spec.ID)) {
			return false
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return false // take ends it: it holds the agent's journal
		case <-ctx.Done():
			return false
		}
	}
}

// ask puts a request to the process of an agent.
func (n *nodes) ask(ctx context.Context, id mailbox.AgentID, verb string, c nodeCall) (nodeReply, error) {
	var out nodeReply
	raw, err := json.Marshal(c)
	if err != nil {
		return out, err
	}
	select {
	case <-n.s.wire.open: // also while the session ends
	default:
		if err := n.s.wire.isServed(ctx); err != nil {
			return out, err
		}
	}
	m, err := n.s.wire.conn.RequestWithContext(ctx, nodeSubject(n.s.info.ID, string(id), "do", verb), raw)
	if err != nil {
		return out, fmt.Errorf("ask the process of %s to %s: %w", id, verb, err)
	}
	if err := json.Unmarshal(m.Data, &out); err != nil {
		return out, fmt.Errorf("read the answer of the process of %s: %w", id, err)
	}
	if out.Error != "" {
		return out, errors.New(out.Error)
	}
	return out, nil
}

// Stop implements actors.Elsewhere. A process that does not end its agent in
// time is killed, and ends it so.
func (n *nodes) Stop(ctx context.Context, id mailbox.AgentID, cause error) error {
	s := n.known(id)
	if s == nil {
		return nil
	}
	n.mu.Lock()
	s.leaving = true
	n.mu.Unlock()
	wait, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	verb := "stop"
	if errors.Is(cause, agent.ErrKilled) {
		verb = "kill"
	}
	out, err := n.ask(wait, id, verb, nodeCall{Cause: cause.Error()})
	if t, ok := n.s.store.Get(id); ok && err == nil && out.Life != nil {
		err = n.s.agents.Observe(t, *out.Life)
	}
	if err != nil {
		n.s.opts.Logger.Warn("the process of an agent did not stop it and is killed", "agent", id, "error", err)
	}
	return n.end(ctx, s)
}

// Interrupt implements actors.Elsewhere.
func (n *nodes) Interrupt(id mailbox.AgentID) {
	n.begun(func() {
		ctx, cancel := context.WithTimeout(n.s.scope, askNodeWithin)
		defer cancel()
		if _, err := n.ask(ctx, id, "interrupt", nodeCall{}); err != nil {
			n.s.opts.Logger.Warn("an agent could not be interrupted", "agent", id, "error", err)
		}
	})
}

// Compact implements actors.Elsewhere.
func (n *nodes) Compact(ctx context.Context, id mailbox.AgentID) error {
	_, err := n.ask(ctx, id, "compact", nodeCall{})
	return err
}

// Look implements actors.Elsewhere.
func (n *nodes) Look(id mailbox.AgentID) (actors.Sighting, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	if s == nil {
		return actors.Sighting{}, false
	}
	return actors.Sighting{State: s.said.State, Running: s.said.Running, Unread: s.said.Unread}, true
}

// Quiet implements actors.Elsewhere. Mail between two nodes could be behind the
// look at each; two looks that saw the same moves saw none under way.
func (n *nodes) Quiet(ctx context.Context) bool {
	first, ok := n.look(ctx)
	if !ok {
		return false
	}
	again, ok := n.look(ctx)
	return ok && slices.Equal(first, again)
}

func (n *nodes) look(ctx context.Context) (moves []uint64, quiet bool) {
	ctx, cancel := context.WithTimeout(ctx, askNodeWithin)
	defer cancel()
	n.mu.Lock()
	ids := make([]mailbox.AgentID, 0, len(n.seats))
	for id := range n.seats {
		ids = append(ids, id)
	}
	n.mu.Unlock()
	slices.Sort(ids)
	for _, id := range ids {
		r, err := n.ask(ctx, id, "quiet", nodeCall{})
		if err != nil || !r.Quiet {
			return nil, false
		}
		moves = append(moves, r.Moves)
	}
	return moves, true
}

// questions returns what the agents in other processes ask a person.
func (n *nodes) questions() []Question {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Question
	for _, s := range n.seats {
		all = append(all, s.said.Questions...)
	}
	return all
}

// asker returns the agent in another process that has asked a question.
func (n *nodes) asker(id string) (mailbox.AgentID, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for agent, s := range n.seats {
		if slices.ContainsFunc(s.said.Questions, func(q Question) bool { return q.ID == id }) {
			return agent, true
		}
	}
	return "", false
}

// settle passes on a person's answer. It returns when it is on disk there.
func (n *nodes) settle(id mailbox.AgentID, question string, a Answer) error {
	ctx, cancel := context.WithTimeout(n.s.scope, askNodeWithin)
	defer cancel()
	_, err := n.ask(ctx, id, "answer", nodeCall{Name: question, Answer: &a})
	return err
}

// close asks every process to leave its turn open and end, and sees to it.
func (n *nodes) close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	var all []*seat
	for _, s := range n.seats {
		s.leaving = true
		all = append(all, s)
	}
	n.mu.Unlock()
	var left sync.WaitGroup
	errs := make([]error, len(all))
	for i, s := range all {
		left.Go(func() { errs[i] = n.dismiss(ctx, s) })
	}
	left.Wait()
	if n.sub != nil {
		if err := n.sub.Unsubscribe(); !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (n *nodes) dismiss(ctx context.Context, s *seat) error {
	if s.process == nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if _, err := n.ask(wait, s.spec.ID, "quit", nodeCall{}); err == nil {
		select {
		case <-s.process.Gone():
			return nil
		case <-wait.Done():
		}
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer stop()
	return n.end(last, s)
}
