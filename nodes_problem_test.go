package swarm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worker"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// say sends the lead a prompt without waiting for the result.
func say(t *testing.T, s *Session, text string) {
	t.Helper()
	if err := errors.Join(s.Begin(), s.Say(text)); err != nil {
		t.Fatal(err)
	}
}

// words opens a named pipe in the session's directory; the agents write lines to
// it.
func words(t *testing.T, s *Session, name string) func() string {
	t.Helper()
	path := filepath.Join(s.opts.Dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() }) //nolint:errcheck // only read
	return func() string {
		t.Helper()
		line := make([]byte, 256)
		if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		n, err := f.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(line[:n]))
	}
}

// tap keeps what goes over a session's bus.
type tap struct {
	conn *nats.Conn
	mu   sync.Mutex
	all  []*nats.Msg
}

func newTap(t *testing.T, s *Session, subjects ...string) *tap {
	t.Helper()
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := natsd.DialUnix(s.Info().Socket(s.opts.StateDir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	p := &tap{conn: conn}
	for _, subject := range subjects {
		if _, err := conn.Subscribe(subject, func(m *nats.Msg) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.all = append(p.all, m)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *tap) take() []*nats.Msg {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.all
	p.all = nil
	return all
}

// again publishes what was kept, as if it had been on its way all the time.
func (p *tap) again(t *testing.T, all []*nats.Msg) {
	t.Helper()
	inbox := p.conn.NewInbox()
	for i, m := range all {
		again := &nats.Msg{Subject: m.Subject, Header: nats.Header{}, Data: m.Data, Reply: inbox}
		for name, values := range m.Header {
			again.Header[name] = values
		}
		again.Header.Set(nats.MsgIdHdr, fmt.Sprint("again-", i)) // not the broker's to find out
		if err := p.conn.PublishMsg(again); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestProblem44_NothingOfAnOldIncarnationCounts stops a teammate's process in the
// middle of its work until another takes its place, lets it go on, and repeats
// all that it ever put on the bus: mail, reports, events, tasks. Nothing of it has
// an effect, and the work of the later incarnation stands.
func TestProblem44_NothingOfAnOldIncarnationCounts(t *testing.T) {
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: TaskCreate, input: {subject: one, description: d}}
        - {tool: TaskCreate, input: {subject: two, description: d}}
        - {tool: TaskCreate, input: {subject: three, description: d}}
        - {tool: Agent, input: {name: ben, description: d, prompt: work}}
  - when: {agent: lead}
    say: {text: ok}
  - when: {agent: ben, step: 0}
    say:
      calls:
        - {tool: TaskUpdate, input: {taskId: "1", status: in_progress}}
        - {tool: SendMessage, input: {to: team-lead, message: the first word}}
        - {tool: Bash, input: {command: "echo up > up; sleep 1000"}}
  - when: {agent: ben, step: 1}
    say:
      calls:
        - {tool: TaskUpdate, input: {taskId: "1", status: completed}}
        - {tool: TaskUpdate, input: {taskId: "2", status: in_progress}}
        - {tool: SendMessage, input: {to: team-lead, message: the second word}}
  - say: {text: found}
`, func(o *Options) { o.silence = 4 * time.Second })
	began, sub := words(t, s, "up"), s.Events()
	p := newTap(t, s, "sw."+s.ID()+".mb.>", "sw."+s.ID()+".rc.>", "sw."+s.ID()+".node.*.up.*", "$KV.>")
	say(t, s, "begin")
	began()
	ben, err := s.roster.Find("ben")
	if err != nil {
		t.Fatal(err)
	}
	old := s.fleet.Process(ben.ID())
	if err := syscall.Kill(old.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Next(t, sub, "the end of the second launch's turn", coordinatortest.TurnEnd("ben"))
	if err := syscall.Kill(old.PID, syscall.SIGCONT); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process of the old launch is there beside the new one: %v", err)
	}
	quiet(t, s)
	said := p.take()
	up, down := highest(t, said, agent.LeadID, ben.ID()), highest(t, said, ben.ID(), agent.LeadID)
	before := s.effects(t)
	if before.launch != 2 || before.incarnation < 2 || before.first != 1 || before.second != 1 || before.tasks != "1 completed 0, 2 in_progress 2, 3 pending 0" {
		t.Fatalf("before the replay: %+v", before)
	}

	heard := s.Events()
	defer heard.Close()
	firstLaunch := slices.DeleteFunc(said, func(m *nats.Msg) bool {
		return strings.Contains(m.Subject, ".node.") && !bytes.Contains(m.Data, []byte(`"launch":1`))
	})
	if len(firstLaunch) < 20 {
		t.Errorf("only %d messages to repeat", len(firstLaunch))
	}
	p.again(t, firstLaunch)
	s.forge(t, p, ben, up, down)
	if _, err := s.Send("ben", "are you well?"); err != nil { // behind all that
		t.Fatal(err)
	}
	for done := false; !done; {
		e, err := heard.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done = coordinatortest.TurnEnd("ben")(e)
		if _, is := e.Fact.(event.CallStarted); is && e.Agent.Name == "ben" {
			t.Errorf("the old launch's work was told again: %+v", e)
		}
	}
	quiet(t, s)
	if after := s.effects(t); after != before {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	if l := ben.Record(); l.Closed || l.Result != "found" || l.Outcome != agent.Completed {
		t.Errorf("the later incarnation was harmed: %+v", l)
	}
	s.comeBack(t, ben)
}

// effects is what an incarnation can have brought about.
type effects struct {
	launch, incarnation uint32
	first, second, lies int // words in the lead's conversation
	tasks, plan         string
}

func (s *Session) effects(t *testing.T) effects {
	t.Helper()
	ben, err := s.roster.Find("ben")
	if err != nil {
		t.Fatal(err)
	}
	lead, _ := s.store.Get(agent.LeadID)
	msgs, err := lead.Messages()
	if err != nil {
		t.Fatal(err)
	}
	l := ben.Record()
	e := effects{launch: l.Launch, incarnation: min(l.Incarnation, 2), plan: fmt.Sprint(l.Plan, lead.Record().Plan)}
	for _, m := range msgs {
		e.first += strings.Count(string(m.Raw()), "the first word")
		e.second += strings.Count(string(m.Raw()), "the second word")
		e.lies += strings.Count(string(m.Raw()), "a word of the past")
	}
	tasks, err := s.Tasks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, task := range tasks {
		claim := board.Claim{}
		if task.Claim != nil {
			claim = *task.Claim
		}
		all = append(all, fmt.Sprintf("%s %s %d", task.ID, task.Status, claim.Incarnation))
	}
	e.tasks = strings.Join(all, ", ")
	return e
}

// forge sends what the old incarnation could have sent next.
func (s *Session) forge(t *testing.T, p *tap, ben *transcript.Transcript, up, down uint64) {
	t.Helper()
	lead, _ := s.store.Get(agent.LeadID)
	past := mailbox.Address{Agent: ben.ID(), Incarnation: 1}
	for i, kind := range []mailbox.Kind{mailbox.KindText, mailbox.KindAgentReport, mailbox.KindIdle, mailbox.KindPlanApprovalRequest, mailbox.KindShutdownResponse} {
		p.refused(t, s, mailbox.Envelope{
			ID: mailbox.ID(fmt.Sprint("past-", i)), From: past, To: mailbox.Address{Agent: lead.ID()}, FromName: "ben", ToName: "team-lead",
			Seq: up + 1, Kind: kind, Sent: time.Now(), Body: `{"text":"a word of the past"}`,
		})
	}
	p.refused(t, s, mailbox.Envelope{
		ID: "to-the-past", From: lead.Address(), To: past, Seq: down + 1, Kind: mailbox.KindText, Sent: time.Now(), Body: "a word of the past",
	})
	b, err := s.boards.Get(t.Context(), s.node.TaskListOf(""))
	if err != nil {
		t.Fatal(err)
	}
	was := board.Member{Address: past, Name: "ben", Writes: true}
	if _, err := b.Finish(t.Context(), was, "2"); !errors.As(err, new(*board.SupersededError)) {
		t.Errorf("the old incarnation completed the new one's task: %v", err)
	}
	if _, err := b.Drop(t.Context(), was, "2"); !errors.As(err, new(*board.SupersededError)) {
		t.Errorf("the old incarnation gave back the new one's task: %v", err)
	}
	if _, err := b.Claim(t.Context(), was, "3"); !errors.As(err, new(*board.SupersededError)) {
		t.Errorf("the old incarnation took a task that was free: %v", err)
	}
	life := ben.Record()
	life.Result, life.Closed = "stale", true
	old := workerClient(t, s, ben.ID())
	if w, err := rpc.Call(t.Context(), old, workerapi.UpReport, workerapi.Report{Launch: 1, PID: 1, Record: &life}); err != nil || w.Refusal == "" {
		t.Errorf("a report of the old launch was accepted: %+v, %v", w, err)
	}
	if _, err := rpc.Call(t.Context(), old, workerapi.UpFind, workerapi.NameIn{Launch: 1, Name: "lead"}); !isSuperseded(err) {
		t.Errorf("find of the old launch: %v", err)
	}
	if _, err := rpc.Call(t.Context(), old, workerapi.UpWake, workerapi.WakeIn{Launch: 1, Name: "lead"}); !isSuperseded(err) {
		t.Errorf("wake of the old launch: %v", err)
	}
	if _, err := s.roster.Send(lead, team.Message{To: "ben@1", Text: "a word of the past"}); !errors.As(err, new(*team.IncarnationError)) {
		t.Errorf("a letter to the old incarnation: %v", err)
	}
}

// refused puts a message on the bus and waits until its receiver has rejected it.
func (p *tap) refused(t *testing.T, s *Session, e mailbox.Envelope) {
	t.Helper()
	settled, err := p.conn.SubscribeSync("sw." + s.ID() + ".rc." + string(e.From.Agent))
	if err != nil {
		t.Fatal(err)
	}
	defer settled.Unsubscribe() //nolint:errcheck // the connection is the test's
	if err := p.conn.Publish(fmt.Sprintf("sw.%s.mb.%s.%s", s.ID(), e.To.Agent, e.From.Agent), e.AppendJSON(nil)); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := settled.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatalf("what became of %s (%s): %v", e.ID, e.Kind, err)
		}
		if bytes.Contains(m.Data, []byte(e.ID)) {
			if !bytes.Contains(m.Data, []byte(`"rejected"`)) {
				t.Errorf("%s: %s", e.Kind, m.Data)
			}
			return
		}
	}
}

// highest returns the number of the last message from one agent to another.
func highest(t *testing.T, all []*nats.Msg, to, from mailbox.AgentID) (last uint64) {
	t.Helper()
	for _, m := range all {
		if strings.HasSuffix(m.Subject, fmt.Sprintf(".mb.%s.%s", to, from)) {
			var e struct{ Seq uint64 }
			if err := json.Unmarshal(m.Data, &e); err != nil {
				t.Fatal(err)
			}
			last = max(last, e.Seq)
		}
	}
	return last
}

// comeBack starts the old launch again by hand.
func (s *Session) comeBack(t *testing.T, ben *transcript.Transcript) {
	t.Helper()
	_, err := worker.Open(t.Context(), worker.Options{Session: s.ID(), StateDir: s.opts.StateDir, Agent: string(ben.ID()), Launch: 1})
	if !errors.As(err, new(*executor.HeldError)) {
		t.Errorf("the old launch came back: %v", err)
	}
}

// TestProblem28_AFrozenProcessIsStuck drives a teammate in a process of its own
// through its states: its command's process is killed, it is frozen, thawed,
// frozen until another takes its place, and killed for good while what it left
// behind lives on. The status of the team is right in each, and shows no state
// that no event has reported.
func TestProblem28_AFrozenProcessIsStuck(t *testing.T) {
	t.Parallel()
	const silence = 6 * time.Second
	soon := 30 * time.Second
	if os.Getenv("SWARM_SOAK") != "" {
		soon = 2 * time.Second // is promised, of a machine that is not loaded
	}
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: work}}]}
  - when: {agent: lead}
    say: {text: ok}
  - when: {agent: ben, step: 0}
    say:
      calls:
        - tool: Bash
          input: {command: "sleep 1000 & echo $! > child; wait"}
  - say: {stall: true}
`, func(o *Options) { o.silence = silence })
	child, w := words(t, s, "child"), watchStates(t, s, "ben")
	say(t, s, "begin")
	pid, err := strconv.Atoi(child())
	if err != nil {
		t.Fatal(err)
	}
	w.within(soon, "in_tool")

	kill(t, pid, syscall.SIGKILL)
	w.within(soon, "thinking")

	first := s.fleet.Process(w.id())
	kill(t, first.PID, syscall.SIGSTOP)
	frozen := time.Now()
	w.within(silence/3+soon, "stuck")
	if took := time.Since(frozen); took < (15*time.Second)/3-workerapi.ReportInterval {
		t.Errorf("stuck after %v", took)
	}
	kill(t, first.PID, syscall.SIGCONT)
	w.within(soon, "thinking")
	if n := w.life().Launch; n != 1 {
		t.Errorf("a process that went on was followed by another: launch %d", n)
	}

	kill(t, first.PID, syscall.SIGSTOP)
	w.within(silence/3+soon, "stuck")
	<-first.Done()
	coordinatortest.Next(t, w.sub, "the next launch's request", func(e event.Event) bool {
		_, asks := e.Fact.(event.Requested)
		return asks && e.Agent.Name == "ben" && w.life().Launch > 1 // the second may fall too where little runs
	})
	w.within(soon, "thinking")

	orphan := exec.Command("/bin/sh", "-c", "while :; do echo beat; sleep 0.1; done")
	orphan.Env = append(os.Environ(), "SWARM_AGENT=ben")
	orphan.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		kill(t, orphan.Process.Pid, syscall.SIGKILL)
		_ = orphan.Wait() // killed
	}()
	for w.state() != "parked" {
		time.Sleep(10 * time.Millisecond)
		if p, launch := s.fleet.Process(w.id()), w.life().Launch; p != nil && w.state() == "thinking" {
			kill(t, p.PID, syscall.SIGKILL)
			<-p.Done()
			w.until(soon, "its end is shown, or the next launch", func(a actors.Status) bool {
				return a.State.Name != "thinking" || a.Record.Launch > launch
			})
		}
	}
	if n := w.life().Launch; n != 1+3 {
		t.Errorf("given up at launch %d", n)
	}
	w.check()
}

func kill(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// states are the states in the status of one agent, and those in its events.
type states struct {
	*testing.T
	s    *Session
	name string
	sub  *event.Subscription // for the test
	told *event.Subscription
	seen map[string]bool
}

func watchStates(t *testing.T, s *Session, name string) *states {
	return &states{T: t, s: s, name: name, sub: s.Events(), told: s.Events(), seen: map[string]bool{}}
}

func (w *states) status() (a actors.Status) {
	for _, a := range w.s.Agents() {
		if a.Record.Spec.Name == w.name {
			w.seen[a.State.Name] = true
			return a
		}
	}
	return a
}

func (w *states) state() string       { return w.status().State.Name }
func (w *states) life() agent.Record  { return w.status().Record }
func (w *states) id() mailbox.AgentID { return w.life().Spec.ID }

// within fails unless one of the states is shown in time.
func (w *states) within(limit time.Duration, names ...string) {
	w.Helper()
	w.until(limit, fmt.Sprint(names), func(a actors.Status) bool { return slices.Contains(names, a.State.Name) })
}

func (w *states) until(limit time.Duration, what string, ok func(actors.Status) bool) {
	w.Helper()
	begun := time.Now()
	for !ok(w.status()) {
		if time.Since(begun) > limit {
			w.Fatalf("%v after it should be %s, %s is %+v", limit, what, w.name, w.status().State)
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Logf("%s after %v", what, time.Since(begun).Round(time.Millisecond))
}

// check fails if the status has shown a state, up to parked, that no event reports.
func (w *states) check() {
	w.Helper()
	told := map[string]bool{}
	for !told["parked"] {
		e := coordinatortest.Next(w.T, w.told, "the last state", func(event.Event) bool { return true })
		if e.Agent.Name != w.name {
			continue
		}
		switch f := e.Fact.(type) {
		case event.Started:
			told["resolving"], told["idle"] = true, true // until its task has come
		case event.StateChanged:
			told[f.To] = true
		case event.Requested, event.Answered, event.Delta:
			told["thinking"] = true
		case event.CallStarted:
			told["in_tool"] = true
		case event.Warning: // its process has ended
			told["paused"] = true
		}
	}
	for name := range w.seen {
		if !told[name] && name != "" {
			w.Errorf("%s was shown as %q and no event says so: %v", w.name, name, told)
		}
	}
	w.Logf("shown: %v", w.seen)
}

// A process that an earlier owner has started goes on with its work at once: what
// it asks for before it has reported is done, if it is the newest of its agent.
func TestAProcessIsHeardBeforeItHasReported(t *testing.T) {
	s := apart(t, "", `  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: work}}]}
  - say: {text: found}
`, nil)
	if _, err := s.Run(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	ben, err := s.roster.Find("ben")
	if err != nil {
		t.Fatal(err)
	}
	forget(t, s, ben.ID(), func() {})
	process := workerClient(t, s, ben.ID())
	for launch, refused := range map[uint32]bool{0: true, 1: false, 2: true} {
		out, err := rpc.Call(t.Context(), process, workerapi.UpFind, workerapi.NameIn{Launch: launch, Name: "lead"})
		if isSuperseded(err) != refused || !refused && len(out.Found) == 0 {
			t.Errorf("launch %d: %v, %+v", launch, err, out)
		}
	}
}

// workerClient returns a client for requests in the name of the process of an agent.
func workerClient(t *testing.T, s *Session, id mailbox.AgentID) *rpc.Client {
	t.Helper()
	conn, err := s.bus.LocalConn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rpc.NewClient(conn, workerapi.OwnerSubject(s.ID()).From(string(id)), rpc.ClientOptions{Errors: workerapi.WorkerErrors()})
}

// isSuperseded reports an error of a request of an older process of an agent.
func isSuperseded(err error) bool {
	return err != nil && strings.Contains(err.Error(), "is superseded")
}
