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
	counter
	s *Session

	newsMu sync.Mutex
	news   []mailbox.Envelope // arrived and not yet told; guarded by newsMu
	bell   chan struct{}      // one pending signal
}

// busRequest is what programs outside ask with. A field that a verb has no
// use for is refused, so that nobody believes that it did something.
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

type busReply struct {
	Error    string        `json:"error,omitempty"`
	Posted   []busPosted   `json:"posted,omitempty"`
	Messages []Mail        `json:"messages,omitzero"`
	Left     int           `json:"left,omitempty"` // unread messages beyond these
	Task     *board.Task   `json:"task,omitempty"`
	Tasks    []board.Task  `json:"tasks,omitzero"`
	Agents   []busAgent    `json:"agents,omitzero"`
	State    mailbox.State `json:"state,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	Part     *TextPart     `json:"part,omitempty"`
}

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
	o := &busDoor{s: s, counter: newBusyCounter(s), bell: make(chan struct{}, 1)}
	if err := o.open(conn, insideSubject(s.Info().ID, "*", "*"), o.handle); err != nil {
		return nil, fmt.Errorf("open the session to programs outside: %w", err)
	}
	o.work.Go(o.tell)
	return o, nil
}

func (o *busDoor) handle(m *nats.Msg) {
	name, verb := asked(m.Subject)
	if m.Reply != "" && !strings.HasPrefix(m.Reply, inboxPrefix(name)+".") {
		// The answer would go out with the node's rights, to where the user may not speak.
		o.refuse(name, m.Subject, fmt.Sprintf("asked for the answer to go to %q, which is not below %s", m.Reply, inboxPrefix(name)))
		return
	}
	o.serve(m, busReply{Error: errBusy.Error()}, func() any { return o.answer(name, verb, m) })
}

// asked takes name and verb out of a subject that the subscription matches.
func asked(subject string) (name, verb string) {
	parts := strings.Split(subject, ".")
	return parts[len(parts)-2], parts[len(parts)-1]
}

func (o *busDoor) refuse(name, subject, why string) {
	o.s.audit.Note(event.Audit{By: name, Subject: subject, Reason: why})
}

func (o *busDoor) answer(name, verb string, m *nats.Msg) busReply {
	r, err := o.do(name, verb, m.Data)
	if errors.As(err, new(*forbiddenError)) {
		o.refuse(name, m.Subject, err.Error())
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (o *busDoor) do(name, verb string, data []byte) (busReply, error) {
	me, err := o.member(name)
	if err != nil {
		return busReply{}, err
	}
	in, err := parseBus(name, data)
	if err != nil {
		return busReply{}, err
	}
	o.s.boards.Heard(me.ID())
	ctx, cancel := context.WithTimeout(o.s.scope, busWithin)
	defer cancel()
	switch verb {
	case "send":
		return o.send(me, in)
	case "read":
		return o.read(me, in)
	case "text":
		part, err := o.s.partOf(me, in.ID, in.Offset)
		if err != nil {
			return busReply{}, err
		}
		return busReply{Part: &part}, nil
	case "state":
		return o.state(me, in)
	case "agents":
		return o.agents(me)
	case "tasks":
		tasks, err := o.s.Tasks(ctx)
		return busReply{Tasks: append([]board.Task{}, tasks...)}, err
	case "respond":
		return busReply{}, o.respondTo(me, in)
	case "claim":
		return o.claim(ctx, me, in.Task)
	case "complete":
		return o.move(ctx, me, in.Task, board.Completed)
	case "drop":
		return o.move(ctx, me, in.Task, board.Pending)
	}
	return busReply{}, fmt.Errorf("there is no request %q; there are send, read, text, respond, state, agents, tasks, claim, complete and drop", verb)
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

func parseBus(name string, data []byte) (in busRequest, err error) {
	if len(data) > busBytes {
		return in, fmt.Errorf("the request has %d bytes and may have %d", len(data), busBytes)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return in, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("the request is not valid: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, errors.New("the request is not valid: something follows the JSON object")
	}
	switch {
	case in.From != "" && in.From != name:
		return in, &forbiddenError{fmt.Sprintf("%s cannot send as %q", name, in.From)}
	case in.Kind != "" && in.Kind != mailbox.KindText:
		return in, &forbiddenError{fmt.Sprintf("a program outside sends texts and no %.40q", in.Kind)}
	}
	return in, plainWords(in.Text, in.Summary)
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

func (o *busDoor) send(me *transcript.Transcript, in busRequest) (busReply, error) {
	if strings.TrimSpace(in.Text) == "" || in.To == "" {
		return busReply{}, errors.New(`say to whom and what: {"to":"lead","text":"…"}`)
	}
	posted, err := o.s.roster.Send(me, team.Letter{To: in.To, Text: in.Text, Summary: in.Summary, ReplyTo: in.ReplyTo, Key: in.Key})
	var r busReply
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
func (o *busDoor) respondTo(me *transcript.Transcript, in busRequest) error {
	if in.RequestID == "" || in.Approve == nil {
		return errors.New(`say which request it is the answer to, and yes or no: {"request_id":"…","approve":false,"reason":"…"}`)
	}
	return o.s.answerShutdown(me, in.RequestID, *in.Approve, in.Reason)
}

// read takes everything up to in.Last for read and returns what follows. Who does
// not say what it has read gets the same again.
func (o *busDoor) read(me *transcript.Transcript, in busRequest) (busReply, error) {
	if in.Last != "" {
		if err := o.ack(me, in.Last); err != nil {
			return busReply{}, err
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
			return busReply{}, err
		}
	}
	r := busReply{Messages: make([]Mail, n), Left: len(unread) - n}
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
	return o.s.agents.Read(me, ids...)
}

func (o *busDoor) state(me *transcript.Transcript, in busRequest) (busReply, error) {
	st, ok := me.Status(in.ID)
	if !ok {
		return busReply{}, fmt.Errorf("%s has sent no message %.64q that is still known", me.ID(), in.ID)
	}
	return busReply{State: st.State, Reason: st.Reason}, nil
}

func (o *busDoor) agents(me *transcript.Transcript) (busReply, error) {
	r := busReply{Agents: []busAgent{}}
	all, err := o.s.roster.Members()
	for _, m := range all {
		if s := m.Life.Spec; s.ID != me.ID() {
			r.Agents = append(r.Agents, busAgent{agent.DisplayName(s), s.ID, s.Type, m.State.Name})
		}
	}
	return r, err
}

// claim takes a task, or with no id the next one that is free.
func (o *busDoor) claim(ctx context.Context, me *transcript.Transcript, id board.ID) (busReply, error) {
	b, err := o.s.boards.Get(ctx, o.s.taskList())
	if err != nil {
		return busReply{}, err
	}
	var t board.Task
	if id == "" {
		t, err = b.Next(ctx, team.Member(me))
	} else {
		t, err = b.Claim(ctx, team.Member(me), id)
	}
	if err != nil {
		return busReply{}, err
	}
	return busReply{Task: &t}, nil
}

// move changes the status of a task as the tool of an agent does, with all that
// follows from it.
func (o *busDoor) move(ctx context.Context, me *transcript.Transcript, id board.ID, to board.Status) (busReply, error) {
	self := actors.Agent{Transcript: me, Spec: me.Spec()}
	input, err := json.Marshal(map[string]string{"taskId": string(id), "status": string(to)})
	if err != nil {
		return busReply{}, err
	}
	for _, t := range o.s.roster.TaskTools(self, o.s.boards, o.s.node.ListOf) {
		if t.Spec().Name != "TaskUpdate" {
			continue
		}
		switch r, err := t.Run(ctx, tool.Call{Name: "TaskUpdate", Input: input}); {
		case err != nil:
			return busReply{}, err
		case r.IsError:
			return busReply{}, errors.New(r.Text)
		}
	}
	b, err := o.s.boards.Get(ctx, o.s.taskList())
	if err != nil {
		return busReply{}, err
	}
	t, err := b.Get(id)
	return busReply{Task: &t}, err
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
