package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// abroad passes mail on to other sessions. For each there is a member of this one,
// in whose mailbox a letter lies, on disk, until the other session has answered:
// it is posted again and again until then, and its id makes it one message there.
type abroad struct {
	s      *Session
	inbox  inboundDesk
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool                       // guarded by mu
	members map[string]*forwarder      // by session; guarded by mu
	idle    map[chan struct{}]struct{} // who waits for forwarders to rest; guarded by mu
}

// forwarder passes on the mail of one member.
type forwarder struct {
	a       *abroad
	session string
	m       *team.Outsider
	stuck   bool // the other session was asked and has not taken the mail; guarded by a.mu
}

func newAbroad(s *Session) *abroad {
	a := &abroad{s: s, members: map[string]*forwarder{}, idle: map[chan struct{}]struct{}{}}
	a.inbox.s = s
	a.ctx, a.cancel = context.WithCancel(s.scope)
	return a
}

// start goes on with what lies in the mailboxes of members for other sessions.
func (a *abroad) start() error {
	for _, t := range a.s.store.All() {
		id, ok := t.ID().Session()
		if !ok || t.Spec().Role != transcript.Outside || t.Life().Closed {
			continue
		}
		if _, err := a.member(id); err != nil {
			return err
		}
	}
	return nil
}

// member returns the member for another session, whose mail is passed on from
// then on.
func (a *abroad) member(session string) (*team.Outsider, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, agent.ErrShutdown
	}
	if f := a.members[session]; f != nil && !f.m.Transcript().Life().Closed {
		return f.m, nil
	}
	m, err := a.s.outsiders.StandIn(session)
	if err != nil {
		return nil, err
	}
	f := &forwarder{a: a, session: session, m: m}
	a.members[session] = f
	a.work.Go(func() { f.run(a.ctx) })
	return m, nil
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

// Reach is team.Sessions.
func (a *abroad) Reach(to string, l team.Letter) (*transcript.Transcript, error) {
	info, err := a.find(to)
	if err != nil {
		return nil, err
	}
	switch {
	case info.ID == a.s.info.ID:
		return nil, team.ErrSelf
	case l.Kind != "" && l.Kind != mailbox.KindText, l.Class == mailbox.ClassControl:
		return nil, fmt.Errorf("another session takes texts only, and no control messages: %s gets no such message", to)
	case len(l.Text) > longestAbroad:
		return nil, &mailbox.TooLargeError{What: "text to another session", Size: len(l.Text), Limit: longestAbroad}
	case !info.Open():
		return nil, &NotRunningError{ID: info.ID}
	}
	m, err := a.member(info.ID)
	if err != nil {
		return nil, err
	}
	return m.Transcript(), nil
}

// find returns the session that an address means.
func (a *abroad) find(to string) (Info, error) {
	if strings.HasPrefix(to, "bridge:") {
		return Info{}, &team.AbroadError{To: to}
	}
	id, isID := mailbox.AgentID(to).Session()
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
	for _, info := range all {
		if info.ID == a.s.info.ID || !info.Open() {
			continue
		}
		if len(near) == most {
			break
		}
		near = append(near, team.Neighbour{ID: info.ID, Address: "uds:" + info.Socket(a.s.opts.StateDir), Dir: info.Dir, Prompt: info.Prompt})
	}
	return near
}

// How long a forwarder waits before it asks again, and how long for an answer.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	postWithin = 10 * time.Second
)

func (f *forwarder) run(ctx context.Context) {
	wait := firstRetry
	for ctx.Err() == nil {
		mail, err := f.m.Inbox(ctx, 1)
		if err != nil {
			f.rest() // the member was expelled
			return
		}
		if len(mail) == 0 {
			continue
		}
		if f.pass(ctx, mail[0]) {
			wait = firstRetry
			f.moved()
			continue
		}
		f.rest()
		select {
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		case <-ctx.Done():
		}
	}
}

// pass posts one letter and reports whether it is settled.
func (f *forwarder) pass(ctx context.Context, e mailbox.Envelope) bool {
	got, err := f.post(ctx, e)
	if err != nil {
		f.a.s.opts.Logger.Debug("a letter waits for another session", "session", f.session, "message", e.ID, "error", err)
		return false
	}
	switch got.State {
	case letterRefused:
		err = f.a.s.tellRefused(f.m, e, got.Reason)
	case letterTaken:
	default:
		return false
	}
	if err == nil {
		err = f.m.Read(e.ID)
	}
	if err != nil {
		f.a.s.opts.Logger.Warn("what became of a letter to another session could not be recorded", "session", f.session, "message", e.ID, "error", err)
	}
	return err == nil
}

func (f *forwarder) post(ctx context.Context, e mailbox.Envelope) (letterReply, error) {
	text, err := f.a.s.store.Body(e)
	if err != nil {
		return letterReply{}, err
	}
	me := f.a.s.Info()
	in := sessionLetter{
		Session: me.ID, Dir: me.Dir, From: e.FromName, ID: e.ID, Summary: e.Summary, Text: text,
	}
	ctx, cancel := context.WithTimeout(ctx, postWithin)
	defer cancel()
	r, err := Dial(f.a.s.opts.StateDir, Info{ID: f.session})
	if err != nil {
		return letterReply{}, err
	}
	defer r.Close()
	out, err := r.ask(ctx, "letter", request{Letter: &in})
	if err != nil || out.Letter == nil {
		return letterReply{}, errors.Join(err, errNoVerdict)
	}
	return *out.Letter, nil
}

var errNoVerdict = errors.New("the session did not say what became of the letter")

// tellRefused tells the sender of a letter that the other session does not take
// it. The id makes it one message, however often it is told.
func (s *Session) tellRefused(m *team.Outsider, e mailbox.Envelope, why string) error {
	text := fmt.Sprintf("Your message %s was not delivered: session %s refuses it (%s).", e.ID, m.Transcript().ID(), why)
	if e.From.Agent == agent.User {
		s.bus.Publish(event.Agent{ID: actors.LeadID, Name: actors.LeadName}, event.Warning{Text: text})
		return nil
	}
	_, err := m.Send(team.Letter{To: string(e.From.Agent), Text: text, ReplyTo: e.ID, Key: "refused " + string(e.ID)})
	if final := (*actors.FinalError)(nil); errors.As(err, &final) {
		return nil // nobody is left to tell
	}
	return err
}

func (f *forwarder) moved() { f.set(false) }
func (f *forwarder) rest()  { f.set(true) }

func (f *forwarder) set(stuck bool) {
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	f.stuck = stuck
	for c := range f.a.idle {
		close(c)
	}
	clear(f.a.idle)
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
		if !f.stuck && (len(f.m.Transcript().Unread()) > 0 || a.onItsWay(f.m.Transcript())) {
			c := make(chan struct{})
			a.idle[c] = struct{}{}
			return c, true
		}
	}
	return nil, false
}

func (a *abroad) onItsWay(to *transcript.Transcript) bool {
	for _, e := range a.s.store.Pending() {
		if e.To.Agent == to.ID() {
			return true
		}
	}
	return false
}
