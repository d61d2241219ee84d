package swarm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/nats-io/nats.go"
)

// next returns the first event that fits.
func next(t *testing.T, sub *event.Subscription, what string, fits func(event.Event) bool) event.Event {
	t.Helper()
	limit := time.AfterFunc(time.Minute, sub.Close)
	defer limit.Stop()
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatalf("%s does not come: %v", what, err)
		}
		if fits(e) {
			return e
		}
	}
}

func turnEnd(name string) func(event.Event) bool {
	return func(e event.Event) bool {
		_, is := e.Fact.(event.TurnEnded)
		return is && e.Agent.Name == name
	}
}

// say gives the lead a prompt without waiting for what comes of it.
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
	old := s.nodes.known(ben.ID())
	if err := syscall.Kill(old.process.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	next(t, sub, "the end of the second launch's turn", turnEnd("ben"))
	if err := syscall.Kill(old.process.PID, syscall.SIGCONT); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process of the old launch is there beside the new one: %v", err)
	}
	quiet(t, s)
	said := p.take()
	up, down := highest(t, said, actors.LeadID, ben.ID()), highest(t, said, ben.ID(), actors.LeadID)
	before := s.effects(t)
	if before.launch != 2 || before.incarnation < 2 || before.first != 1 || before.second != 1 || before.tasks != "1 completed 0, 2 in_progress 2" {
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
		done = turnEnd("ben")(e)
		if _, is := e.Fact.(event.CallStarted); is && e.Agent.Name == "ben" {
			t.Errorf("the old launch's work was told again: %+v", e)
		}
	}
	quiet(t, s)
	if after := s.effects(t); after != before {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	if l := ben.Life(); l.Closed || l.Result != "found" || l.Outcome != transcript.Completed {
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
	lead, _ := s.store.Get(actors.LeadID)
	msgs, err := lead.Messages()
	if err != nil {
		t.Fatal(err)
	}
	l := ben.Life()
	e := effects{launch: l.Launch, incarnation: min(l.Incarnation, 2), plan: fmt.Sprint(l.Plan, lead.Life().Plan)}
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

// forge says what the old incarnation could have said next.
func (s *Session) forge(t *testing.T, p *tap, ben *transcript.Transcript, up, down uint64) {
	t.Helper()
	lead, _ := s.store.Get(actors.LeadID)
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
	b, err := s.boards.Get(t.Context(), s.taskList())
	if err != nil {
		t.Fatal(err)
	}
	was := board.Member{Address: past, Name: "ben", Writes: true}
	if _, err := b.Finish(t.Context(), was, "2"); !errors.As(err, new(*board.LostError)) {
		t.Errorf("the old incarnation completed the new one's task: %v", err)
	}
	if _, err := b.Drop(t.Context(), was, "2"); !errors.As(err, new(*board.LostError)) {
		t.Errorf("the old incarnation gave back the new one's task: %v", err)
	}
	life := ben.Life()
	life.Result, life.Closed = "stale", true
	if w := s.nodes.report(ben.ID(), nodeReport{Launch: 1, PID: 1, Life: &life}); w.Leave == "" {
		t.Error("a report of the old launch was taken")
	}
	for _, verb := range []string{"find", "wake"} {
		if out := s.nodes.answer(ben.ID(), verb, []byte(`{"launch":1,"name":"lead"}`)).(nodeReply); !strings.Contains(out.Error, "superseded") {
			t.Errorf("%s of the old launch: %+v", verb, out)
		}
	}
	if _, err := s.roster.Send(lead, team.Letter{To: "ben@1", Text: "a word of the past"}); !errors.As(err, new(*team.PastError)) {
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
	_, err := OpenNode(t.Context(), NodeOptions{Session: s.ID(), StateDir: s.opts.StateDir, Agent: string(ben.ID()), Launch: 1})
	if !errors.As(err, new(*executor.HeldError)) {
		t.Errorf("the old launch came back: %v", err)
	}
}
