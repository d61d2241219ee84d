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

// Service exchanges mail with other sessions. For each there is a member of this
// session, whose mailbox holds a message on disk until the other session has replied.
// The message is posted again until then, and its id makes it one message there.
type Service struct {
	options    Options
	quarantine Quarantine
	allowlist  Allowlist
	limiter    limiter
	goroutines sync.WaitGroup
	ctx        context.Context
	cancel     context.CancelFunc

	mu      sync.Mutex
	closed  bool                       // guarded by mu
	members map[mailbox.AgentID]*relay // by the id of the member for the session; guarded by mu
	idle    map[chan struct{}]struct{} // waiters for relays to rest; guarded by mu
}

// New returns the service of a session. It sends mail after Start, and ends with scope
// at the latest.
func New(scope context.Context, o Options) *Service {
	a := &Service{options: o, members: map[mailbox.AgentID]*relay{}, idle: map[chan struct{}]struct{}{}}
	a.quarantine.service, a.allowlist.service = a, a
	a.ctx, a.cancel = context.WithCancel(scope)
	return a
}

// Start starts to send the mail in the mailboxes of members for other sessions.
func (s *Service) Start() error {
	for _, t := range s.options.Store.All() {
		_, _, ok := t.ID().Peer()
		if !ok || t.Spec().Role != agent.Program || t.Record().Closed {
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

// member returns the member for another session and starts to send its mail.
func (s *Service) member(id mailbox.AgentID) (*roster.Member, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, turn.ErrShutdown
	}
	if f := s.members[id]; f != nil && !f.member.Transcript().Record().Closed {
		return f.member, nil
	}
	m, err := s.options.Members.Proxy(id)
	if err != nil {
		return nil, err
	}
	f := newRelay(s, m)
	s.members[id] = f
	s.goroutines.Go(func() { f.run(s.ctx) })
	return m, nil
}

// retryAll makes all relays try again at once.
func (s *Service) retryAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.members {
		f.retryNow()
	}
}

// run runs f in a goroutine, unless the service is stopped.
func (s *Service) run(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.goroutines.Go(f)
	}
}

// Stop stops sending. Mail that was not sent stays in the mailboxes.
func (s *Service) Stop() {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.goroutines.Wait()
}

// maxText bounds the text of a message to another session, in bytes.
const maxText = 1 << 20

// maxPending bounds the messages to another session that it has not accepted.
const maxPending = 30

// Reach implements roster.Sessions.
func (s *Service) Reach(to string, l team.Message) (*transcript.Transcript, error) {
	id, err := s.find(to)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind != "" && l.Kind != mailbox.KindText, l.Class == mailbox.ClassControl:
		return nil, fmt.Errorf("another session takes texts only, and no control messages: %s gets no such message", to)
	}
	if err := CheckSize(l); err != nil {
		return nil, err
	}
	m, err := s.member(id)
	if err != nil {
		return nil, err
	}
	if n := len(m.Transcript().Unread()) + s.pendingFor(m.Transcript()); n >= maxPending {
		return nil, &session.BacklogError{To: to, Waiting: n}
	}
	return m.Transcript(), nil
}

// CheckSize returns an error if a message is too long for another session.
func CheckSize(l team.Message) error {
	if len(l.Text) > maxText {
		return &mailbox.TooLargeError{What: "text to another session", Size: len(l.Text), Limit: maxText}
	}
	return nil
}

// find returns the member for the session that an address means.
func (s *Service) find(to string) (mailbox.AgentID, error) {
	id, bridged, isID := mailbox.AgentID(to).Peer()
	if path, ok := strings.CutPrefix(to, "bridge:"); ok {
		id, bridged = path, true
	}
	if bridged {
		return mailbox.BridgeID(id), s.checkBridge(to, id)
	}
	info, err := s.neighbour(to, id, isID)
	switch {
	case err != nil:
		return "", err
	case info.ID == s.options.Record.Get().ID:
		return "", team.ErrSelf
	case !info.Open():
		return "", &session.NotRunningError{ID: info.ID}
	}
	return mailbox.PeerID(info.ID), nil
}

// neighbour returns the session of this machine that an address means.
func (s *Service) neighbour(to, id string, isID bool) (session.Info, error) {
	path, isPath := strings.CutPrefix(to, "uds:")
	all, err := session.List(s.options.StateDir, "")
	if err != nil {
		return session.Info{}, err
	}
	for _, info := range all {
		switch {
		case info.ID == to, isID && info.ID == id:
			return info, nil
		case isPath && (filepath.Clean(path) == info.Socket(s.options.StateDir) || path == info.ID):
			return info, nil
		}
	}
	if isPath || isID {
		return session.Info{}, fmt.Errorf("%s leads to no session in %s; ListAgents shows those that run", to, s.options.StateDir)
	}
	return session.Info{}, team.ErrNoSession
}

// Near implements roster.Sessions.
func (s *Service) Near(most int) []team.OtherSession {
	all, err := session.List(s.options.StateDir, "")
	if err != nil {
		s.options.Logger.Warn("the other sessions could not be listed", "error", err)
	}
	var near []team.OtherSession
	for _, b := range s.options.Record.Get().Bridges {
		if b.Allowed && len(near) < most && s.options.NATS {
			near = append(near, team.OtherSession{ID: b.Session, Address: "bridge:" + b.Session})
		}
	}
	for _, info := range all {
		if info.ID == s.options.Record.Get().ID || !info.Open() {
			continue
		}
		if len(near) == most {
			break
		}
		near = append(near, team.OtherSession{ID: info.ID, Address: "uds:" + info.Socket(s.options.StateDir), Dir: info.Dir, Prompt: info.Prompt})
	}
	return near
}

// flushTimeout is how long Flush waits for other sessions to reply.
const flushTimeout = 2 * time.Second

// Flush waits, up to flushTimeout, until each message was posted at least once. The
// next process that opens the session posts messages without a reply again.
func (s *Service) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	for {
		changed, busy := s.unfinished()
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

func (s *Service) unfinished() (<-chan struct{}, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.members {
		if !f.stuck && (len(f.member.Transcript().Unread()) > 0 || s.pendingFor(f.member.Transcript()) > 0) {
			c := make(chan struct{})
			s.idle[c] = struct{}{}
			return c, true
		}
	}
	return nil, false
}

// pendingFor counts the messages that have been sent to a member and have not arrived.
func (s *Service) pendingFor(to *transcript.Transcript) (n int) {
	for _, e := range s.options.Store.Pending() {
		if e.To.Agent == to.ID() {
			n++
		}
	}
	return n
}

// Allow records whether messages may be sent to a session elsewhere. It returns when
// that is on disk.
func (s *Service) Allow(id string, allowed bool) error {
	err := s.options.Record.Update(func(i *session.Info) error { return i.SetBridge(id, allowed) })
	if err == nil {
		s.retryAll()
	}
	return err
}

// Withdraw removes the user's answer about a session elsewhere: the user is asked again
// before the next message to it.
func (s *Service) Withdraw(id string) error {
	return s.options.Record.Update(func(i *session.Info) error { return i.RemoveBridge(id) })
}
