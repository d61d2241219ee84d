package swarm_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorder writes down requests and replies as they are on a server, byte for byte but
// for what differs from one run to the next.
type recorder struct {
	t     *testing.T
	conn  *nats.Conn
	msgs  chan *nats.Msg
	heard []*nats.Msg
	words []string // pairs of what differs and what stands for it
	ids   map[string]string
	out   bytes.Buffer
}

// recording listens to all requests of a session at its socket.
func recording(t *testing.T, s *swarm.Session) *recorder {
	t.Helper()
	awaitBus(t, s)
	conn, err := natsd.DialUnix(s.Info().Socket(stateOf(s)))
	ok(t, err)
	t.Cleanup(conn.Close)
	r := &recorder{t: t, conn: conn, msgs: make(chan *nats.Msg, 1<<16), ids: map[string]string{}}
	r.words = []string{stateOf(s), "STATE", s.Info().Dir, "DIR"}
	for _, subject := range []string{"sw.*.api.*", "sw.*.node.>", "_INBOX.>"} {
		_, err := conn.ChanSubscribe(subject, r.msgs)
		ok(t, err)
	}
	ok(t, conn.FlushTimeout(10*time.Second))
	return r
}

// next returns the first message not looked at yet that is as asked.
func (r *recorder) next(what string, is func(*nats.Msg) bool) *nats.Msg {
	r.t.Helper()
	late := time.After(30 * time.Second)
	for at := 0; ; at++ {
		for at >= len(r.heard) {
			select {
			case m := <-r.msgs:
				r.heard = append(r.heard, m)
			case <-late:
				r.t.Fatalf("there is no %s", what)
			}
		}
		if m := r.heard[at]; is(m) {
			r.heard = slices.Delete(r.heard, at, at+1)
			return m
		}
	}
}

// exchange writes down the next request on a subject, by its end, and its reply.
func (r *recorder) exchange(subject string) {
	r.t.Helper()
	request := r.next("request "+subject, func(m *nats.Msg) bool { return strings.HasSuffix(m.Subject, subject) })
	reply := r.next("reply to "+subject, func(m *nats.Msg) bool { return m.Subject == request.Reply })
	r.write(request.Subject, request.Data, reply.Data)
}

func (r *recorder) write(subject string, request, reply []byte) {
	fmt.Fprintf(&r.out, "%s\n> %s\n< %s\n\n", r.plain([]byte(subject)), r.plain(request), r.plain(reply))
}

// raw puts a request as a program would that knows nothing of ours.
func (r *recorder) raw(subject, data string) {
	r.t.Helper()
	m, err := r.conn.Request(subject, []byte(data), 10*time.Second)
	if err != nil {
		r.t.Fatalf("%s %s: %v", subject, data, err)
	}
	r.write(subject, []byte(data), m.Data)
}

var varying = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`"(pid|count|turns|steps|turn_steps|worked|settled|tool_uses|moves|\w+_tokens|inc)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"SU[A-Z0-9]{50,}"`), `"SEED"`},
	{regexp.MustCompile(`"U[A-Z0-9]{50,}"`), `"KEY"`},
	{regexp.MustCompile(`\bcall_\d+_[0-9a-f]+_\d+`), "CALL"},
	{regexp.MustCompile(`\bq-[0-9a-f]{8}\b`), "QUESTION"},
	{regexp.MustCompile(`until \d\d:\d\d:\d\d`), "until TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`"env":\{[^}]*\}`), `"env":{}`},
	{regexp.MustCompile(`\.re\.(\w+)\.\w+`), `.re.$1.SECRET`},
}

var randomID = regexp.MustCompile(`\b([a-z2-7]{26}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[A-Z2-7]{26})\b`)

func (r *recorder) plain(raw []byte) string {
	text := strings.NewReplacer(r.words...).Replace(string(raw))
	for _, v := range varying {
		text = v.is.ReplaceAllString(text, v.as)
	}
	return randomID.ReplaceAllStringFunc(text, func(id string) string {
		if r.ids[id] == "" {
			r.ids[id] = fmt.Sprintf("ID%d", len(r.ids)+1)
		}
		return r.ids[id]
	})
}

// compare compares what was written down with a golden file.
func (r *recorder) compare(name string) {
	r.t.Helper()
	path := filepath.Join("testdata", "wire", name+".txt")
	if *update {
		ok(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		ok(r.t, os.WriteFile(path, r.out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	ok(r.t, err)
	got, wanted := strings.Split(r.out.String(), "\n\n"), strings.Split(string(want), "\n\n")
	for i := range max(len(got), len(wanted)) {
		if g, w := at(got, i), at(wanted, i); g != w {
			r.t.Errorf("on the wire is\n%s\nand was\n%s", g, w)
		}
	}
}

func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}

func recordedSession(t *testing.T, o swarm.Options) *swarm.Session {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "wire")
	ok(t, err)
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	o.NewSession, o.Home = "s1", dir
	s := sessionIn(t, dir, leadFor(), o)
	ok(t, s.Begin())
	return s
}

// TestTheWireOfTheAPIStays: what a process asks a session at its socket, and the
// answers, are the same bytes in every version.
func TestTheWireOfTheAPIStays(t *testing.T) {
	s := recordedSession(t, swarm.Options{Attended: true, Listen: "127.0.0.1:0"})
	rec := recording(t, s)
	r := remoteOf(t, s)
	ctx := soon(t)
	did := func(verb string, _ ...any) { t.Helper(); rec.exchange("api." + verb) }

	w, err := r.Hello(ctx)
	did("hello", w, err)
	_, err = r.Feed(ctx)
	did("tail", err)
	agents, err := r.Agents(ctx)
	did("ps", agents, err)
	a, err := r.Agent(ctx, "lead")
	did("agent", a, err)
	a, err = r.Agent(ctx, "nobody")
	did("agent", a, err)
	tasks, err := r.Tasks(ctx)
	did("tasks", tasks, err)
	for _, verb := range []func() error{
		func() error { return r.Stop(ctx, "nobody") }, func() error { return r.Kill(ctx, "nobody") },
		func() error { _, err := r.StopTree(ctx, "nobody"); return err }, func() error { _, err := r.KillTree(ctx, "nobody"); return err },
		func() error { return r.Background(ctx, "nobody") }, func() error { return r.Compact(ctx, "nobody") },
	} {
		if verb() == nil {
			t.Error("something was done with nobody")
		}
	}
	for _, verb := range []string{"stop", "kill", "stoptree", "killtree", "bg", "compact"} {
		did(verb)
	}
	gone, err := r.Down(ctx, []string{"nobody"}, time.Second)
	did("down", gone, err)
	moved, err := r.BackgroundForeground(ctx)
	did("bgall", moved, err)
	cut, err := r.Interrupt(ctx, "")
	did("interrupt", cut, err)
	did("model", r.SetModel(ctx, "m2"))

	posted, err := r.SendClass(ctx, "nobody", "hello", mailbox.ClassControl)
	did("send", posted, err)
	all, err := r.Inbox(ctx, "lead")
	did("mailbox", all, err)
	m, err := r.Message(ctx, "unknown")
	did("message", m, err)
	q, err := r.Questions(ctx)
	did("questions", q, err)
	did("answer", r.Answer(ctx, "q1", swarm.Answer{Allow: true}))

	did("bridge", r.SetBridge(ctx, "s2", true))
	did("bridge-withdraw", r.WithdrawBridge(ctx, "s2"))
	bus, err := r.Bus(ctx)
	did("bus", bus, err)
	key, err := r.AddBusUser(ctx, "bob")
	did("bus-add", key, err)
	did("bus-remove", r.RemoveBusUser(ctx, "bob"))
	did("bus-remove", r.RemoveBusUser(ctx, "bob"))

	teams, err := r.Teams(ctx)
	did("teams", teams, err)
	up, err := r.TeamUp(ctx, swarm.TeamFile{Name: "crew", Tasks: []swarm.TeamTask{{Key: "t", Subject: "to be done"}}, Members: []swarm.TeamMember{{Name: "ann", Prompt: "begin", PlanRequired: true}}})
	if err != nil {
		t.Fatal(up, err)
	}
	rec.next("request", func(m *nats.Msg) bool { return strings.HasSuffix(m.Subject, "api.team-up") }) // its answer depends on what ann does meanwhile
	up, err = r.Team(ctx, "nobody")
	did("team", up, err)
	up, err = r.TeamAdd(ctx, "nobody", swarm.TeamMember{Name: "ben", Prompt: "begin"})
	did("team-add", up, err)
	did("team-remove", r.TeamRemove(ctx, "crew", "nobody"))
	did("team-down", r.TeamDown(ctx, "crew"))

	rec.raw("sw.s1.api.nothing", "")
	rec.raw("sw.s1.api.team-nothing", "{}")
	rec.raw("sw.s1.api.stop", "no JSON")
	rec.raw("sw.s1.api.answer", "{}")
	rec.raw("sw.s1.api.team-up", "{}")
	rec.raw("sw.s1.api.team-add", "{}")
	rec.raw("sw.s1.api.letter", "{}")
	rec.raw("sw.s1.api.letter", `{"letter":{"session":"s2","dir":"/d","from":"lead","id":"m1","summary":"s","text":"hello"}}`)
	rec.raw("sw.s1.api.letter", `{"letter":{"session":"s2","dir":"/d","from":"lead","id":"m2","text":" "}}`)
	rec.raw("sw.s1.api.letter", `{"letter":{"session":"s2","dir":"/d","from":"lead","id":"m3","again":true}}`)
	rec.raw("sw.s1.api.untail", "")
	rec.raw("sw.s1.api.quit", "")
	rec.compare("api")
}

// TestTheWireOfMembersStays: the same for programs that are members by the socket.
func TestTheWireOfMembersStays(t *testing.T) {
	s := recordedSession(t, swarm.Options{Attended: true, AskTimeout: time.Hour})
	rec := recording(t, s)
	r := remoteOf(t, s)
	ctx := soon(t)
	did := func(verb string, _ ...any) { t.Helper(); rec.exchange("api." + verb) }

	_, err := r.Join(ctx, "lead")
	did("join", err)
	ext, err := r.Join(ctx, "ext")
	ok(t, err)
	did("join")
	posted, err := ext.Send(ctx, swarm.Message{To: "nobody", Text: "hello", Summary: "s", Class: mailbox.ClassSteer, ReplyTo: "m1", Key: "k"})
	did("post", posted, err)
	mail, err := ext.Inbox(ctx, 10, 0)
	did("inbox", mail, err)
	_, err = s.Send("ext", "look here")
	ok(t, err)
	mail, err = ext.Inbox(ctx, 10, 20*time.Second)
	if err != nil || len(mail) != 1 {
		t.Fatal(mail, err)
	}
	did("inbox")
	part, err := ext.Text(ctx, mail[0].ID, 5)
	did("text", part, err)
	part, err = ext.Text(ctx, "m9", 0)
	did("text", part, err)
	did("read", ext.Read(ctx, mail[0].ID))
	did("respond", ext.AnswerShutdown(ctx, "r1", true, "done"))
	made, err := ext.Task(ctx, "TaskCreate", json.RawMessage(`{"subject":"look","description":"d"}`))
	did("task", made, err)
	made, err = ext.Task(ctx, "TaskUpdate", json.RawMessage(`{"taskId":"9","status":"completed"}`))
	did("task", made, err)
	made, err = ext.Task(ctx, "Nothing", json.RawMessage(`{}`))
	did("task", made, err)
	asked, err := ext.Ask(ctx, event.Choice{Header: "h", Question: "which?", Options: []event.Option{{Label: "a"}, {Label: "b"}}}, 0)
	ok(t, err)
	did("ask")
	ok(t, s.Answer(asked.ID, swarm.Answer{Allow: true, Choices: [][]string{{"a"}}}))
	asked, err = ext.Answer(ctx, asked.ID, 20*time.Second)
	did("ask", asked, err)
	asked, err = ext.Answer(ctx, "q9", 0)
	did("ask", asked, err)
	_, err = r.Join(ctx, "ext")
	ok(t, err)
	did("join")
	did("read", ext.Read(ctx, "m9"))
	did("leave", ext.Leave(ctx))
	rec.raw("sw.s1.api.inbox", `{}`)
	rec.raw("sw.s1.api.inbox", `{"outside":{"name":"other"}}`)
	rec.raw("sw.s1.api.join", `{"outside":{"name":"Not A Name"}}`)
	rec.raw("sw.s1.api.post", `{"outside":{"name":"ext","incarnation":2}}`)
	rec.raw("sw.s1.api.respond", `{"outside":{"name":"ext","incarnation":2}}`)
	rec.raw("sw.s1.api.leave", `{"outside":{"name":"ext","incarnation":2}}`)
	rec.compare("members")
}

// TestTheWireOfTheBusStays: the same for programs with a key, which docs/bus.md is for.
func TestTheWireOfTheBusStays(t *testing.T) {
	s := recordedSession(t, swarm.Options{Listen: "127.0.0.1:0"})
	rec := &recorder{t: t, ids: map[string]string{}}
	ok(t, s.Ready(t.Context()))
	p := joined(t, s, "bob")
	did := func(verb, body string) {
		t.Helper()
		m, err := p.conn.Request(p.c.Subject(verb), []byte(body), 20*time.Second)
		ok(t, err)
		rec.write(p.c.Subject(verb), []byte(body), m.Data)
	}
	did("nothing", ``)
	did("send", `{}`)
	did("send", `{"to":"lead","text":"hello","summary":"s","key":"k","reply_to":"m1"}`)
	did("send", `{"to":"nobody","text":"hello"}`)
	did("send", `{"from":"ann","to":"lead","text":"hello"}`)
	did("send", `{"kind":"answer","to":"lead","text":"hello"}`)
	did("send", `{"to":"lead","text":"hello","unknown":1}`)
	did("send", `no JSON`)
	did("send", `{} {}`)
	did("read", ``)
	_, err := s.Send("bob", "look here")
	ok(t, err)
	coordinatortest.Eventually(t, "bob has mail", func() bool { return len(p.ask("read", `{"max":1}`).Messages) == 1 })
	id := string(p.ask("read", `{}`).Messages[0].ID)
	did("read", `{"max":1,"to":"ignored"}`)
	did("text", `{"id":"`+id+`","offset":5}`)
	did("text", `{"id":"m9"}`)
	did("read", `{"last":"`+id+`"}`)
	did("state", `{"id":"m9"}`)
	did("respond", `{}`)
	did("respond", `{"request_id":"r1","approve":true,"reason":"done"}`)
	did("tasks", ``)
	did("claim", ``)
	did("claim", `{"task":"9"}`)
	r := remoteOf(t, s)
	ext, err := r.Join(soon(t), "ext")
	ok(t, err)
	_, err = ext.Task(soon(t), "TaskCreate", json.RawMessage(`{"subject":"look","description":"d"}`))
	ok(t, err)
	did("claim", ``)
	did("drop", `{"task":"1"}`)
	did("complete", `{"task":"1"}`)
	did("complete", `{"task":"9"}`)
	did("tasks", `{}`)
	did("agents", `{}`)
	rec.compare("bus")
}

// TestTheWireOfLettersStays: the same between sessions that use one server.
func TestTheWireOfLettersStays(t *testing.T) {
	public, seed, err := natsd.NewKey()
	ok(t, err)
	creds := filepath.Join(t.TempDir(), "seed")
	ok(t, os.WriteFile(creds, []byte(seed), 0o600))
	server, err := natsd.Start(t.Context(), natsd.Options{
		StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Users: []natsd.User{{Name: "both", Key: public, Publish: []string{">"}, Subscribe: []string{">"}}},
	})
	ok(t, err)
	t.Cleanup(func() { ok(t, server.Stop()) })
	s := recordedSession(t, swarm.Options{Mode: "default", Attended: true, NATS: swarm.NATS{URL: server.ClientURL(), Creds: creds}})
	awaitBus(t, s)
	key, err := nats.NkeyOptionFromSeed(creds)
	ok(t, err)
	conn, err := nats.Connect(server.ClientURL(), key)
	ok(t, err)
	t.Cleanup(conn.Close)
	rec := &recorder{t: t, ids: map[string]string{}}
	for i, letter := range []string{
		``,
		`no JSON`,
		`{"session":"s3","id":"m1","text":"hello"}`,
		`{"session":"s2","dir":"/d","from":"lead","id":"m1","summary":"s","text":"hello"}`,
		`{"session":"s2","dir":"/d","from":"lead","id":"m1","summary":"s","text":"hello"}`,
		`{"session":"s2","dir":"/d","from":"lead","id":"m2","again":true}`,
		`{"session":"s2","dir":"/d","from":"lead","id":"m3","mode":"bypassPermissions","text":"is held"}`,
	} {
		answers, err := conn.SubscribeSync(fmt.Sprintf("sw.s2.re.s1.x%d", i))
		ok(t, err)
		ok(t, conn.PublishRequest("sw.s1.bridge.s2", answers.Subject, []byte(letter)))
		m, err := answers.NextMsg(20 * time.Second)
		ok(t, err)
		rec.write("sw.s1.bridge.s2", []byte(letter), m.Data)
	}
	rec.compare("letters")
}

// TestTheWireOfWorkersStays: the same between the owner of a session and the process of
// a teammate.
func TestTheWireOfWorkersStays(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "wire")
	ok(t, err)
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	rules := filepath.Join(dir, "s.yaml")
	ok(t, os.WriteFile(rules, []byte(`rules:
  - when: {agent: lead, step: 0}
    say: {calls: [{tool: Agent, input: {name: ben, description: d, prompt: begin}}]}
  - when: {agent: ben, step: 0}
    say: {calls: [{tool: SendMessage, input: {to: team-lead, message: hello, summary: s}}]}
  - say: {text: ok}
`), 0o600))
	o := swarm.Options{
		Dir: dir, StateDir: filepath.Join(dir, "state"), Home: dir, Model: "script:" + rules, Mode: "bypassPermissions",
		NewSession: "s1", TeammateCommand: []string{os.Args[0], "teammate"}, Getenv: func(string) string { return "" },
	}
	o.Policy.Where = agent.InProcess
	s, err := swarm.Open(t.Context(), o)
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	ok(t, s.Begin())
	rec := recording(t, s)
	ok(t, s.Say("go"))
	coordinatortest.Eventually(t, "all rest", func() bool {
		a, err := s.Agent("ben")
		return err == nil && a.Record.Outcome == "completed" && !slices.ContainsFunc(s.Agents(), func(a actors.Status) bool { return a.Running || a.Unread > 0 })
	})
	status, err := s.Agent("ben")
	ok(t, err)
	ben := string(status.Record.Spec.ID)
	rec.words = append(rec.words, ben, "BEN")
	rec.exchange(".up.report")
	for _, up := range []string{
		`find {"launch":1,"name":"lead"}`, `find {"launch":1,"name":"nobody"}`, `find {"launch":2,"name":"lead"}`, `find no JSON`,
		`nothing {"launch":1}`, `nothing {"launch":1,"name":"lead"}`, `reserve {"launch":1}`,
		`reserve {"launch":1,"key":"k","ask":{"input":1,"output":10,"floor":1,"enough":1}}`,
		`answer-shutdown {"launch":1}`, `answer-shutdown {"launch":1,"key":"k","shutdown":{"request_id":"r1","approve":true}}`,
		`abroad {"launch":1,"name":"s9"}`, `near {"launch":1,"most":5}`, `others {"launch":1}`, `wake {"launch":1,"name":"lead"}`,
		`wake {"launch":1,"name":"nobody"}`, `life {"launch":1,"name":"lead"}`, `plan {"launch":1,"name":"lead","plan":{"request_id":"r1","approve":true}}`,
		`dismiss {"launch":1,"name":"lead","dismiss":{}}`, `report {"launch":9,"pid":1,"state":{"name":"idle"},"known":0}`,
	} {
		verb, body, _ := strings.Cut(up, " ")
		rec.raw("sw.s1.node."+ben+".up."+verb, body)
	}
	for _, do := range []string{
		`quiet {"launch":0}`, `staff {"launch":0}`, `inbox {"launch":0,"name":"nobody"}`, `mail {"launch":0,"name":"m1"}`, `nothing {"launch":0}`,
		`quiet no JSON`, `plan {"launch":0}`, `plan {"launch":0,"by":"lead","plan":{"request_id":"r1","approve":true}}`,
		`answer {"launch":0}`, `answer {"launch":0,"name":"q1","answer":{"allow":true}}`, `interrupt {"launch":0}`,
		`stop-below {"launch":0,"name":"nobody","cause":"enough"}`, `wake-below {"launch":0,"name":"nobody","by":"lead"}`,
		`interrupt-below {"launch":0,"name":"nobody"}`, `bg-below {"launch":0,"name":"nobody"}`, `compact-below {"launch":0,"name":"nobody"}`,
	} {
		verb, body, _ := strings.Cut(do, " ")
		rec.raw("sw.s1.node."+ben+".do."+verb, body)
	}
	rec.heard = slices.DeleteFunc(rec.heard, func(m *nats.Msg) bool { return strings.HasSuffix(m.Subject, "do.stop") })
	ok(t, s.Stop(t.Context(), "ben"))
	rec.exchange(".do.stop")
	rec.compare("workers")
}
