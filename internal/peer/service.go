package peer

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// Service passes mail on to other sessions. For each there is a member of this one,
// in whose mailbox a message lies, on disk, until the other session has answered:
// it is posted again and again until then, and its id makes it one message there.
type Service struct {
	o          Options
	quarantine Quarantine
	allowlist  Allowlist
	limiter    limiter
	work       sync.WaitGroup
	ctx        context.Context
	cancel     context.CancelFunc

	mu      sync.Mutex
	closed  bool                       // guarded by mu
	members map[mailbox.AgentID]*relay // by who stands for the session; guarded by mu
	idle    map[chan struct{}]struct{} // who waits for relays to rest; guarded by mu
}

// New returns the service of a session, which passes no mail on before Start. It ends
// with scope at the latest.
func New(scope context.Context, o Options) *Service {
	a := &Service{o: o, members: map[mailbox.AgentID]*relay{}, idle: map[chan struct{}]struct{}{}}
	a.quarantine.service, a.allowlist.service = a, a
	a.ctx, a.cancel = context.WithCancel(scope)
	return a
}

// Start goes on with what lies in the mailboxes of members for other sessions.
func (s *Service) Start() error {
	for _, t := range s.o.Store.All() {
		_, _, ok := t.ID().Session()
		if !ok || t.Spec().Role != agent.Outside || t.Record().Closed {
			continue
		}
		m, err := s.member(t.ID())
		if err != nil {
			return err
		}
		s.quarantine.start(m)
	}
	return nil
}

// member returns the member of an id that stands for another session, whose mail is
// passed on from then on.
func (s *Service) member(id mailbox.AgentID) (*roster.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, turn.ErrShutdown
	}
	if f := s.members[id]; f != nil && !f.m.Transcript().Record().Closed {
		return f.m, nil
	}
	m, err := s.o.Members.StandIn(id)
	if err != nil {
		return nil, err
	}
	f := newRelay(s, m)
	s.members[id] = f
	s.work.Go(func() { f.run(s.ctx) })
	return m, nil
}

// poke makes every relay try again at once.
func (s *Service) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.members {
		f.poke()
	}
}

// begin runs f in a goroutine, unless the session is being closed.
func (s *Service) begin(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(f)
	}
}

// Stop ends what passes mail on. The mail stays.
func (s *Service) Stop() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
}

// longestText bounds the text of a message to another session, in bytes.
const longestText = 1 << 20

// mostWaiting bounds the messages to another session that it has not taken yet.
const mostWaiting = 30

// Reach is roster.Sessions.
func (s *Service) Reach(to string, l team.Message) (*transcript.Transcript, error) {
	id, err := s.find(to)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind != "" && l.Kind != mailbox.KindText, l.Class == mailbox.ClassControl:
		return nil, fmt.Errorf("another session takes texts only, and no control messages: %s gets no such message", to)
	}
	if err := Fits(l); err != nil {
		return nil, err
	}
	m, err := s.member(id)
	if err != nil {
		return nil, err
	}
	if n := len(m.Transcript().Unread()) + s.coming(m.Transcript()); n >= mostWaiting {
		return nil, &session.BacklogError{To: to, Waiting: n}
	}
	return m.Transcript(), nil
}

// Fits says why a message is too long for another session.
func Fits(l team.Message) error {
	if len(l.Text) > longestText {
		return &mailbox.TooLargeError{What: "text to another session", Size: len(l.Text), Limit: longestText}
	}
	return nil
}

// find returns who stands for the session that an address means.
func (s *Service) find(to string) (mailbox.AgentID, error) {
	id, bridged, isID := mailbox.AgentID(to).Session()
	if path, ok := strings.CutPrefix(to, "bridge:"); ok {
		id, bridged = path, true
	}
	if bridged {
		return mailbox.OfBridge(id), s.bridgeable(to, id)
	}
	info, err := s.neighbour(to, id, isID)
	switch {
	case err != nil:
		return "", err
	case info.ID == s.o.Record.Get().ID:
		return "", team.ErrSelf
	case !info.Open():
		return "", &session.NotRunningError{ID: info.ID}
	}
	return mailbox.OfSession(info.ID), nil
}

// neighbour returns the session of this machine that an address means.
func (s *Service) neighbour(to, id string, isID bool) (session.Info, error) {
	path, isPath := strings.CutPrefix(to, "uds:")
	all, err := session.List(s.o.StateDir, "")
	if err != nil {
		return session.Info{}, err
	}
	for _, info := range all {
		switch {
		case info.ID == to, isID && info.ID == id:
			return info, nil
		case isPath && (filepath.Clean(path) == info.Socket(s.o.StateDir) || path == info.ID):
			return info, nil
		}
	}
	if isPath || isID {
		return session.Info{}, fmt.Errorf("%s leads to no session that is kept in %s; ListAgents shows those that run", to, s.o.StateDir)
	}
	return session.Info{}, team.ErrNoSession
}

// Near is roster.Sessions.
func (s *Service) Near(most int) []team.OtherSession {
	all, err := session.List(s.o.StateDir, "")
	if err != nil {
		s.o.Logger.Warn("the other sessions could not be listed", "error", err)
	}
	var near []team.OtherSession
	for _, b := range s.o.Record.Get().Bridges {
		if b.Allowed && len(near) < most && s.o.NATS {
			near = append(near, team.OtherSession{ID: b.Session, Address: "bridge:" + b.Session})
		}
	}
	for _, info := range all {
		if info.ID == s.o.Record.Get().ID || !info.Open() {
			continue
		}
		if len(near) == most {
			break
		}
		near = append(near, team.OtherSession{ID: info.ID, Address: "uds:" + info.Socket(s.o.StateDir), Dir: info.Dir, Prompt: info.Prompt})
	}
	return near
}

// flushWithin is how long the end of a run waits for other sessions to answer.
const flushWithin = 2 * time.Second

// Flush waits until every message was posted at least once, for a while: what is
// not answered by then is posted by the next process that opens the session.
func (s *Service) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	for {
		changed, busy := s.busy()
		if !busy {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) busy() (<-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.members {
		if !f.stuck && (len(f.m.Transcript().Unread()) > 0 || s.coming(f.m.Transcript()) > 0) {
			c := make(chan struct{})
			s.idle[c] = struct{}{}
			return c, true
		}
	}
	return nil, false
}

// coming counts the messages that are on their way to a member.
func (s *Service) coming(to *transcript.Transcript) (n int) {
	for _, e := range s.o.Store.Pending() {
		if e.To.Agent == to.ID() {
			n++
		}
	}
	return n
}

// Allow keeps whether messages may go to a session elsewhere. It returns when that is on
// disk.
func (s *Service) Allow(id string, allowed bool) error {
	err := s.o.Record.Update(func(i *session.Info) error { return i.SetBridge(id, allowed) })
	if err == nil {
		s.poke()
	}
	return err
}

// Withdraw forgets what the user has said about a session elsewhere: the user is asked
// again before the next message goes there.
func (s *Service) Withdraw(id string) error {
	return s.o.Record.Update(func(i *session.Info) error { return i.WithdrawBridge(id) })
}
