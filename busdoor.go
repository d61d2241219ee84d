package swarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool"
	"github.com/nats-io/nats.go"
)

const (
	busAtOnce = 64      // requests of all programs outside
	busBytes  = 1 << 20 // of one request
	busMail   = 50      // messages of one answer, at most; of long ones fewer
	busWithin = 30 * time.Second
)

// busDoor is the door for programs that are no node. They ask on
// sw.<session>.in.<name>.<verb>, where <name> is who the server has let in, and
// what they say is in the journal before they are answered.
type busDoor struct {
	*rpc.Server
	s    *Session
	conn *nats.Conn
	work sync.WaitGroup

	newsMu sync.Mutex
	news   []mailbox.Envelope // arrived and not yet told; guarded by newsMu
	bell   chan struct{}      // one pending signal
}

// busRequest has all that programs outside ask with. A field that is not in it is
// refused, so that nobody believes that it did something.
type busRequest struct {
	From    string       `json:"from"` // may be given, and must be true
	Kind    mailbox.Kind `json:"kind"` // may be given, and must be text
	To      string       `json:"to"`
	Text    string       `json:"text"`
	Summary string       `json:"summary"`
	ReplyTo mailbox.ID   `json:"reply_to"`
	Key     string       `json:"key"` // two requests with the same one are one message
	Last    mailbox.ID   `json:"last"`
	Max     int          `json:"max"`
	Task    board.ID     `json:"task"`
	ID      mailbox.ID   `json:"id"`
	Offset  int          `json:"offset"`

	RequestID string `json:"request_id"` // of a shutdown_request
	Approve   *bool  `json:"approve"`
	Reason    string `json:"reason"`
}

// The requests of programs outside.
var (
	busSend     = busMethod[busPostedOut]("send")
	busRead     = busMethod[busMailOut]("read")
	busText     = busMethod[busPartOut]("text")
	busRespond  = busMethod[rpc.None]("respond")
	busStateOf  = busMethod[busStateOut]("state")
	busAgents   = busMethod[busAgentsOut]("agents")
	busTasks    = busMethod[busTasksOut]("tasks")
	busClaim    = busMethod[busTaskOut]("claim")
	busComplete = busMethod[busTaskOut]("complete")
	busDrop     = busMethod[busTaskOut]("drop")
)

func busMethod[Out any](name string) rpc.Method[busRequest, Out] {
	return rpc.Method[busRequest, Out]{Name: name, Within: busWithin, Class: rpc.Participate}
}

// What they answer.
type (
	busPostedOut struct {
		Posted []busPosted `json:"posted,omitempty"`
	}
	busMailOut struct {
		Messages []Mail `json:"messages,omitzero"`
		Left     int    `json:"left,omitempty"` // unread messages beyond these
	}
	busPartOut struct {
		Part *TextPart `json:"part,omitempty"`
	}
	busTaskOut struct {
		Task *board.Task `json:"task,omitempty"`
	}
	busTasksOut struct {
		Tasks []board.Task `json:"tasks,omitzero"`
	}
	busAgentsOut struct {
		Agents []busAgent `json:"agents,omitzero"`
	}
	busStateOut struct {
		State  mailbox.State `json:"state,omitempty"`
		Reason string        `json:"reason,omitempty"`
	}
)

type busPosted struct {
	To    string     `json:"to"`
	ID    mailbox.ID `json:"id,omitempty"`
	Error string     `json:"error,omitempty"`
}

type busAgent struct {
	Name  string          `json:"name"`
	ID    mailbox.AgentID `json:"id"`
	Type  string          `json:"type"`
	State string          `json:"state"`
}

// forbiddenError is the refusal of something that nobody does by mistake.
type forbiddenError struct{ what string }

func (e *forbiddenError) Error() string { return e.what }

func openBusDoor(s *Session, conn *nats.Conn) (*busDoor, error) {
	o := &busDoor{s: s, conn: conn, bell: make(chan struct{}, 1)}
	o.Server = rpc.NewServer(s.scope, rpc.ServerOptions{Log: s.opts.Logger, AtOnce: busAtOnce, OneMessage: true, Accept: o.accepts, Check: o.check})
	o.handleMail()
	o.handleTasks()
	if err := o.Open(conn, rpc.Subject(insideSubject(s.Info().ID, "{caller}", "{method}"))); err != nil {
		return nil, fmt.Errorf("open the session to programs outside: %w", err)
	}
	o.work.Go(o.tell)
	return o, nil
}

func (o *busDoor) close() error {
	err := o.Close()
	o.work.Wait()
	return err
}

// handleAs handles a method in the name of the member that asks.
func handleAs[Out any](o *busDoor, m rpc.Method[busRequest, Out], f func(context.Context, *transcript.Transcript, busRequest) (Out, error)) {
	rpc.Handle(o.Server, m, func(ctx context.Context, c rpc.Caller, in busRequest) (Out, error) {
		me, err := o.member(c.Name)
		if err != nil {
			var none Out
			return none, err
		}
		return f(ctx, me, in)
	})
}

func (o *busDoor) handleMail() {
	handleAs(o, busSend, o.send)
	handleAs(o, busRead, o.read)
	handleAs(o, busText, func(_ context.Context, me *transcript.Transcript, in busRequest) (busPartOut, error) {
		part, err := o.s.partOf(me, in.ID, in.Offset)
		if err != nil {
			return busPartOut{}, err
		}
		return busPartOut{&part}, nil
	})
	handleAs(o, busRespond, o.respondTo)
	handleAs(o, busStateOf, o.state)
	handleAs(o, busAgents, o.agents)
}

func (o *busDoor) handleTasks() {
	handleAs(o, busTasks, func(ctx context.Context, _ *transcript.Transcript, _ busRequest) (busTasksOut, error) {
		tasks, err := o.s.Tasks(ctx)
		return busTasksOut{append([]board.Task{}, tasks...)}, err
	})
	handleAs(o, busClaim, o.claim)
	handleAs(o, busComplete, func(ctx context.Context, me *transcript.Transcript, in busRequest) (busTaskOut, error) {
		return o.move(ctx, me, in.Task, board.Completed)
	})
	handleAs(o, busDrop, func(ctx context.Context, me *transcript.Transcript, in busRequest) (busTaskOut, error) {
		return o.move(ctx, me, in.Task, board.Pending)
	})
}

// accepts refuses what wants its answer elsewhere: that would go out with the
// session's rights, to where the user may not publish.
func (o *busDoor) accepts(c rpc.Caller) bool {
	if c.Reply == "" || strings.HasPrefix(c.Reply, inboxPrefix(c.Name)+".") {
		return true
	}
	o.refuse(c, fmt.Sprintf("asked for the answer to go to %q, which is not below %s", c.Reply, inboxPrefix(c.Name)))
	return false
}

// check refuses who is no user, and what a user may not say.
func (o *busDoor) check(c rpc.Caller, data []byte) error {
	me, err := o.member(c.Name)
	if err == nil {
		err = parseBus(c.Name, data)
	}
	if errors.As(err, new(*forbiddenError)) {
		o.refuse(c, err.Error())
	}
	if err == nil {
		o.s.boards.Heard(me.ID())
	}
	return err
}

func (o *busDoor) refuse(c rpc.Caller, why string) {
	o.s.audit.Note(event.Audit{By: c.Name, Subject: c.Subject, Reason: why})
}

// member returns who asks. The server has checked the key; the name must still be
// a user's, also on a server that is not ours.
func (o *busDoor) member(name string) (*transcript.Transcript, error) {
	users, err := BusUsers(o.s.Info())
	if err != nil {
		return nil, err
	}
	t, ok := o.s.store.Get(mailbox.AgentID(name))
	if !ok || t.Spec().Role != agent.Outside || t.Life().Closed ||
		!slices.ContainsFunc(users, func(u BusUser) bool { return u.Name == name }) {
		return nil, &forbiddenError{fmt.Sprintf("%q is not a user of the bus of session %s", name, o.s.Info().ID)}
	}
	return t, nil
}

func parseBus(name string, data []byte) error {
	var in busRequest
	if len(data) > busBytes {
		return fmt.Errorf("the request has %d bytes and may have %d", len(data), busBytes)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("the request is not valid: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the request is not valid: something follows the JSON object")
	}
	switch {
	case in.From != "" && in.From != name:
		return &forbiddenError{fmt.Sprintf("%s cannot send as %q", name, in.From)}
	case in.Kind != "" && in.Kind != mailbox.KindText:
		return &forbiddenError{fmt.Sprintf("a program outside sends texts and no %.40q", in.Kind)}
	}
	return plainWords(in.Text, in.Summary)
}

// plainWords refuses what a program outside, or another session, may not write.
func plainWords(text, summary string) error {
	switch {
	case turn.Forges(text) || turn.Forges(summary):
		return &forbiddenError{"the message holds a tag that only the runtime writes"}
	case isProtocol(text):
		return &forbiddenError{"the message has the form of one of the runtime's; who is not of the session sends texts"}
	}
	return nil
}

// isProtocol reports whether a text is the body of a structured message, such as
// an approval: as a text it would have no effect, and whoever sends it means harm
// or is mistaken.
func isProtocol(text string) bool {
	var head struct {
		Type mailbox.Kind `json:"type"`
		Kind mailbox.Kind `json:"kind"`
	}
	if json.Unmarshal([]byte(text), &head) != nil {
		return false
	}
	return structured(head.Type) || structured(head.Kind)
}

func structured(k mailbox.Kind) bool {
	return k.Valid() && k != mailbox.KindText && k != mailbox.KindBroadcast
}

func (o *busDoor) send(_ context.Context, me *transcript.Transcript, in busRequest) (busPostedOut, error) {
	if strings.TrimSpace(in.Text) == "" || in.To == "" {
		return busPostedOut{}, errors.New(`say to whom and what: {"to":"lead","text":"…"}`)
	}
	posted, err := o.s.roster.Send(me, team.Letter{To: in.To, Text: in.Text, Summary: in.Summary, ReplyTo: in.ReplyTo, Key: in.Key})
	var r busPostedOut
	for _, p := range posted {
		one := busPosted{To: p.Name, ID: p.ID}
		if p.Err != nil {
			one.Error = p.Err.Error()
		}
		r.Posted = append(r.Posted, one)
	}
	return r, err
}

// respondTo is a member's answer to the request that it end.
func (o *busDoor) respondTo(_ context.Context, me *transcript.Transcript, in busRequest) (rpc.None, error) {
	if in.RequestID == "" || in.Approve == nil {
		return rpc.None{}, errors.New(`say which request it is the answer to, and yes or no: {"request_id":"…","approve":false,"reason":"…"}`)
	}
	return rpc.None{}, o.s.answerShutdown(me, in.RequestID, *in.Approve, in.Reason)
}

// read takes everything up to in.Last for read and returns what follows. Who does
// not say what it has read gets the same again.
func (o *busDoor) read(_ context.Context, me *transcript.Transcript, in busRequest) (busMailOut, error) {
	if in.Last != "" {
		if err := o.ack(me, in.Last); err != nil {
			return busMailOut{}, err
		}
	}
	unread := me.Unread()
	limit := busMail
	if in.Max > 0 {
		limit = min(limit, in.Max)
	}
	n := fitting(unread[:min(limit, len(unread))])
	if n > 0 {
		if err := o.s.store.Sync(); err != nil { // what is shown has been delivered
			return busMailOut{}, err
		}
	}
	r := busMailOut{Messages: make([]Mail, n), Left: len(unread) - n}
	for i, e := range unread[:n] {
		r.Messages[i] = o.s.mailOf(e)
	}
	return r, nil
}

// ack records what a member has read. An id that is not unread was read before.
func (o *busDoor) ack(me *transcript.Transcript, last mailbox.ID) error {
	unread := me.Unread()
	at := slices.IndexFunc(unread, func(e mailbox.Envelope) bool { return e.ID == last })
	if at < 0 {
		return nil
	}
	ids := make([]mailbox.ID, at+1)
	for i, e := range unread[:at+1] {
		ids[i] = e.ID
	}
	return o.s.agents.Read(me.ID(), ids...)
}

func (o *busDoor) state(_ context.Context, me *transcript.Transcript, in busRequest) (busStateOut, error) {
	st, ok := me.Status(in.ID)
	if !ok {
		return busStateOut{}, fmt.Errorf("%s has sent no message %.64q that is still known", me.ID(), in.ID)
	}
	return busStateOut{State: st.State, Reason: st.Reason}, nil
}

func (o *busDoor) agents(_ context.Context, me *transcript.Transcript, _ busRequest) (busAgentsOut, error) {
	r := busAgentsOut{Agents: []busAgent{}}
	all, err := o.s.roster.Members()
	for _, m := range all {
		if s := m.Life.Spec; s.ID != me.ID() {
			r.Agents = append(r.Agents, busAgent{agent.DisplayName(s), s.ID, s.Type, m.State.Name})
		}
	}
	return r, err
}

// claim takes a task, or with no id the next one that is free.
func (o *busDoor) claim(ctx context.Context, me *transcript.Transcript, in busRequest) (busTaskOut, error) {
	b, err := o.s.boards.Get(ctx, o.s.taskList())
	if err != nil {
		return busTaskOut{}, err
	}
	var t board.Task
	if in.Task == "" {
		t, err = b.Next(ctx, team.Member(me.Life()))
	} else {
		t, err = b.Claim(ctx, team.Member(me.Life()), in.Task)
	}
	if err != nil {
		return busTaskOut{}, err
	}
	return busTaskOut{Task: &t}, nil
}

// move changes the status of a task as the tool of an agent does, with all that
// follows from it.
func (o *busDoor) move(ctx context.Context, me *transcript.Transcript, id board.ID, to board.Status) (busTaskOut, error) {
	self := actors.Agent{Transcript: me, Spec: me.Spec()}
	input, err := json.Marshal(map[string]string{"taskId": string(id), "status": string(to)})
	if err != nil {
		return busTaskOut{}, err
	}
	for _, t := range o.s.roster.TaskTools(self, o.s.boards, o.s.node.ListOf) {
		if t.Spec().Name != "TaskUpdate" {
			continue
		}
		switch r, err := t.Run(ctx, tool.Call{Name: "TaskUpdate", Input: input}); {
		case err != nil:
			return busTaskOut{}, err
		case r.IsError:
			return busTaskOut{}, errors.New(r.Text)
		}
	}
	b, err := o.s.boards.Get(ctx, o.s.taskList())
	if err != nil {
		return busTaskOut{}, err
	}
	t, err := b.Get(id)
	return busTaskOut{Task: &t}, err
}

// arrived notes mail to a program outside, to be told once it is on disk.
func (o *busDoor) arrived(e mailbox.Envelope) {
	o.newsMu.Lock()
	o.news = append(o.news, e)
	o.newsMu.Unlock()
	select {
	case o.bell <- struct{}{}:
	default:
	}
}

// tell publishes mail to programs outside as it arrives. It is a hint: who was
// not there reads all the same.
func (o *busDoor) tell() {
	for {
		select {
		case <-o.bell:
		case <-o.s.scope.Done():
			return
		}
		o.newsMu.Lock()
		news := o.news
		o.news = nil
		o.newsMu.Unlock()
		if err := o.s.store.Sync(); err != nil {
			return // the journal has failed, which ends the session
		}
		for _, e := range news {
			raw, err := json.Marshal(o.s.mailOf(e))
			if err == nil {
				err = o.conn.Publish(mailSubject(o.s.Info().ID, string(e.To.Agent)), raw)
			}
			if err != nil {
				o.s.opts.Logger.Warn("a program outside could not be told of mail", "name", e.To.Agent, "error", err)
			}
		}
	}
}
