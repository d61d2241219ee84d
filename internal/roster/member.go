package roster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// Members are the members of a session without a host: external programs that read their
// mail and work on tasks by requests. Its methods may be called from any goroutine.
type Members struct {
	agents *coordinator.Coordinator
	roster *Roster
	boards *Boards
	list   func(team string) string

	mu   sync.Mutex
	mail map[mailbox.AgentID]chan struct{} // closed when mail comes; guarded by mu
}

// NewMembers returns the external members of a session. list returns the name of the task
// list of a team.
func NewMembers(c *coordinator.Coordinator, r *Roster, b *Boards, list func(team string) string) *Members {
	return &Members{agents: c, roster: r, boards: b, list: list, mail: map[mailbox.AgentID]chan struct{}{}}
}

// Member is one program in one of its incarnations.
type Member struct {
	all         *Members
	t           *transcript.Transcript
	incarnation uint32
}

// Join makes a program the member of a name. An existing member gets a new incarnation, and
// requests of an older one are refused. The error is an *agent.NameTakenError if an agent
// has the name.
func (o *Members) Join(name string) (*Member, error) {
	if err := checkNotReserved(name); err != nil {
		return nil, err
	}
	t, err := o.agents.AddMember(name)
	if err != nil {
		return nil, err
	}
	incarnation, err := t.Wake()
	return &Member{o, t, incarnation}, err
}

// Proxy returns the member with an id that represents another session. It keeps its
// incarnation, since only this process acts as it.
func (o *Members) Proxy(id mailbox.AgentID) (*Member, error) {
	t, err := o.agents.AddMember(string(id))
	if err != nil {
		return nil, err
	}
	incarnation := t.Address().Incarnation
	if incarnation == 0 {
		incarnation, err = t.Wake()
	}
	return &Member{o, t, incarnation}, err
}

// Member returns a member in an incarnation that it has joined as; 0 is the newest. The
// error is a *SupersededError for an older one.
func (o *Members) Member(name string, incarnation uint32) (*Member, error) {
	t, err := o.roster.Find(name)
	if err != nil {
		return nil, err
	}
	if t.Spec().Role != agent.Program {
		return nil, fmt.Errorf("%s is no outside member", agent.DisplayName(t.Spec()))
	}
	if incarnation == 0 {
		incarnation = t.Address().Incarnation
	}
	m := &Member{o, t, incarnation}
	return m, m.refuse()
}

// Notify reports new mail. It never blocks.
func (o *Members) Notify(id mailbox.AgentID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.mail[id]; c != nil {
		close(c)
		delete(o.mail, id)
	}
}

func (o *Members) arrivals(id mailbox.AgentID) <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mail[id] == nil {
		o.mail[id] = make(chan struct{})
	}
	return o.mail[id]
}

// Transcript returns the transcript with the member's mail.
func (m *Member) Transcript() *transcript.Transcript { return m.t }

// Incarnation returns the number, from 1, with which the member joins again.
func (m *Member) Incarnation() uint32 { return m.incarnation }

// check refuses requests of an older incarnation or of a member that has ended.
func (m *Member) check() error {
	switch l := m.t.Record(); {
	case l.Closed:
		return &actors.FinalError{Name: l.Spec.Name, Reason: l.Reason}
	case l.Incarnation != m.incarnation:
		return &team.SupersededError{Name: l.Spec.Name}
	}
	return nil
}

// refuse is check for a request of the program.
func (m *Member) refuse() error {
	err := m.check()
	if err != nil {
		m.all.agents.Refused(m.t.ID(), fmt.Sprintf("a request of incarnation %d", m.incarnation), err)
	}
	return err
}

// Alive records that the program runs, which renews its tasks. Every request does that;
// without any for MemberLease its tasks are offered again.
func (m *Member) Alive() error {
	if err := m.refuse(); err != nil {
		return err
	}
	m.all.boards.Renew(m.t.ID())
	return nil
}

// Send writes a message as the member. See Roster.Send.
func (m *Member) Send(l team.Message) ([]team.SendResult, error) {
	if err := m.Alive(); err != nil {
		return nil, err
	}
	return m.all.roster.Send(m.t, l)
}

// Arrivals returns a channel that is closed when the next message arrives.
func (m *Member) Arrivals() <-chan struct{} { return m.all.arrivals(m.t.ID()) }

// HasSent reports whether the lead has a message with a key.
func HasSent(from *transcript.Transcript, key string) bool {
	_, said := from.Status(messageID(from.ID(), agent.LeadID, key))
	return said
}

// Inbox returns the unread messages, oldest first and at most max of them. It waits for one
// until ctx ends, which is no error.
func (m *Member) Inbox(ctx context.Context, most int) ([]mailbox.Envelope, error) {
	if err := m.Alive(); err != nil {
		return nil, err
	}
	for {
		coming := m.all.arrivals(m.t.ID())
		if err := m.check(); err != nil {
			return nil, err
		}
		if mail := m.t.Unread(); len(mail) > 0 {
			return mail[:min(max(most, 1), len(mail))], nil
		}
		select {
		case <-coming:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// Read records that the program has messages, and notifies their senders. It ignores
// messages that are not unread.
func (m *Member) Read(ids ...mailbox.ID) error {
	if err := m.Alive(); err != nil || len(ids) == 0 {
		return err
	}
	return m.all.agents.Read(m.t.ID(), ids...)
}

// Reject records that a message will never be read, and notifies its sender of the reason.
func (m *Member) Reject(id mailbox.ID, why string) error {
	if err := m.Alive(); err != nil {
		return err
	}
	return m.all.agents.Reject(m.t.ID(), id, why)
}

// Await is Read for a message that may still be on its way. If ctx ends first, the message
// stays unread.
func (m *Member) Await(ctx context.Context, id mailbox.ID) error {
	for id != "" {
		coming := m.all.arrivals(m.t.ID())
		if slices.ContainsFunc(m.t.Unread(), func(e mailbox.Envelope) bool { return e.ID == id }) {
			return m.all.agents.Read(m.t.ID(), id)
		}
		select {
		case <-coming:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// Task calls one of the tools of TaskTools as the member.
func (m *Member) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	if err := m.Alive(); err != nil {
		return tool.Result{}, err
	}
	self := coordinator.Agent{Transcript: m.t, Spec: m.t.Spec()}
	tools := m.all.roster.TaskTools(self, m.all.boards, m.all.list)
	at := slices.IndexFunc(tools, func(t tool.Tool) bool { return strings.EqualFold(t.Spec().Name, name) })
	if at < 0 {
		return tool.Result{}, fmt.Errorf("there is no task tool %q", name)
	}
	return tools[at].Run(ctx, tool.Call{Name: name, Input: input})
}

// Leave offers the tasks of the member again. It stays a member: its mail waits for the
// next program that joins under its name.
func (m *Member) Leave(ctx context.Context) error {
	if m.check() != nil {
		return nil // another program has replaced it
	}
	return m.all.boards.Release(ctx, m.t.ID())
}
