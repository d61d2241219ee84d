package swarm

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// abroad passes mail on to other sessions. For each there is a member of this one,
// in whose mailbox a letter lies, on disk, until the other session has answered:
// it is posted again and again until then, and its id makes it one message there.
type abroad struct {
	s      *Session
	inbox  inboundDesk
	asks   consents
	intake intake
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool                           // guarded by mu
	members map[mailbox.AgentID]*forwarder // by who stands for the session; guarded by mu
	idle    map[chan struct{}]struct{}     // who waits for forwarders to rest; guarded by mu
}

func newAbroad(s *Session) *abroad {
	a := &abroad{s: s, members: map[mailbox.AgentID]*forwarder{}, idle: map[chan struct{}]struct{}{}}
	a.inbox.s, a.asks.s = s, s
	a.ctx, a.cancel = context.WithCancel(s.scope)
	return a
}

// start goes on with what lies in the mailboxes of members for other sessions.
func (a *abroad) start() error {
	for _, t := range a.s.store.All() {
		_, _, ok := t.ID().Session()
		if !ok || t.Spec().Role != agent.Outside || t.Life().Closed {
			continue
		}
		m, err := a.member(t.ID())
		if err != nil {
			return err
		}
		a.inbox.start(m)
	}
	return nil
}

// member returns the member of an id that stands for another session, whose mail is
// passed on from then on.
func (a *abroad) member(id mailbox.AgentID) (*team.Outsider, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, turn.ErrShutdown
	}
	if f := a.members[id]; f != nil && !f.m.Transcript().Life().Closed {
		return f.m, nil
	}
	m, err := a.s.outsiders.StandIn(id)
	if err != nil {
		return nil, err
	}
	f := newForwarder(a, m)
	a.members[id] = f
	a.work.Go(func() { f.run(a.ctx) })
	return m, nil
}

// poke makes every forwarder try again at once.
func (a *abroad) poke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.members {
		f.poke()
	}
}

// begin runs f in a goroutine, unless the session is being closed.
func (a *abroad) begin(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.work.Go(f)
	}
}

// stop ends what passes mail on. The mail stays.
func (a *abroad) stop() {
	a.cancel()
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.work.Wait()
}

// longestAbroad bounds the text of a letter to another session, in bytes.
const longestAbroad = 1 << 20

// mostWaiting bounds the letters to another session that it has not taken yet.
const mostWaiting = 30

// BacklogError reports a session to which too many letters are on their way.
type BacklogError struct {
	To      string
	Waiting int
}

func (e *BacklogError) Error() string {
	return fmt.Sprintf("%d messages wait already until %s takes them; write no more before it does", e.Waiting, e.To)
}

// Reach is team.Sessions.
func (a *abroad) Reach(to string, l team.Letter) (*transcript.Transcript, error) {
	id, err := a.find(to)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind != "" && l.Kind != mailbox.KindText, l.Class == mailbox.ClassControl:
		return nil, fmt.Errorf("another session takes texts only, and no control messages: %s gets no such message", to)
	}
	if err := fitsAbroad(l); err != nil {
		return nil, err
	}
	m, err := a.member(id)
	if err != nil {
		return nil, err
	}
	if n := len(m.Transcript().Unread()) + a.coming(m.Transcript()); n >= mostWaiting {
		return nil, &BacklogError{To: to, Waiting: n}
	}
	return m.Transcript(), nil
}

func fitsAbroad(l team.Letter) error {
	if len(l.Text) > longestAbroad {
		return &mailbox.TooLargeError{What: "text to another session", Size: len(l.Text), Limit: longestAbroad}
	}
	return nil
}

// find returns who stands for the session that an address means.
func (a *abroad) find(to string) (mailbox.AgentID, error) {
	session, bridged, isID := mailbox.AgentID(to).Session()
	if path, ok := strings.CutPrefix(to, "bridge:"); ok {
		session, bridged = path, true
	}
	if bridged {
		return mailbox.OfBridge(session), a.bridgeable(to, session)
	}
	info, err := a.neighbour(to, session, isID)
	switch {
	case err != nil:
		return "", err
	case info.ID == a.s.Info().ID:
		return "", team.ErrSelf
	case !info.Open():
		return "", &NotRunningError{ID: info.ID}
	}
	return mailbox.OfSession(info.ID), nil
}

// neighbour returns the session of this machine that an address means.
func (a *abroad) neighbour(to, id string, isID bool) (Info, error) {
	path, isPath := strings.CutPrefix(to, "uds:")
	all, err := Sessions(a.s.opts.StateDir, "")
	if err != nil {
		return Info{}, err
	}
	for _, info := range all {
		switch {
		case info.ID == to, isID && info.ID == id:
			return info, nil
		case isPath && (filepath.Clean(path) == info.Socket(a.s.opts.StateDir) || path == info.ID):
			return info, nil
		}
	}
	if isPath || isID {
		return Info{}, fmt.Errorf("%s leads to no session that is kept in %s; ListAgents shows those that run", to, a.s.opts.StateDir)
	}
	return Info{}, team.ErrNoSession
}

// Near is team.Sessions.
func (a *abroad) Near(most int) []team.Neighbour {
	all, err := Sessions(a.s.opts.StateDir, "")
	if err != nil {
		a.s.opts.Logger.Warn("the other sessions could not be listed", "error", err)
	}
	var near []team.Neighbour
	for _, b := range a.s.Info().Bridges {
		if b.Allowed && len(near) < most && a.s.opts.NATS.URL != "" {
			near = append(near, team.Neighbour{ID: b.Session, Address: "bridge:" + b.Session})
		}
	}
	for _, info := range all {
		if info.ID == a.s.Info().ID || !info.Open() {
			continue
		}
		if len(near) == most {
			break
		}
		near = append(near, team.Neighbour{ID: info.ID, Address: "uds:" + info.Socket(a.s.opts.StateDir), Dir: info.Dir, Prompt: info.Prompt})
	}
	return near
}

// flushWithin is how long the end of a run waits for other sessions to answer.
const flushWithin = 2 * time.Second

// flush waits until every letter was posted at least once, for a while: what is
// not answered by then is posted by the next process that opens the session.
func (a *abroad) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushWithin)
	defer cancel()
	for {
		changed, busy := a.busy()
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

func (a *abroad) busy() (<-chan struct{}, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.members {
		if !f.stuck && (len(f.m.Transcript().Unread()) > 0 || a.coming(f.m.Transcript()) > 0) {
			c := make(chan struct{})
			a.idle[c] = struct{}{}
			return c, true
		}
	}
	return nil, false
}

// coming counts the messages that are on their way to a member.
func (a *abroad) coming(to *transcript.Transcript) (n int) {
	for _, e := range a.s.store.Pending() {
		if e.To.Agent == to.ID() {
			n++
		}
	}
	return n
}
