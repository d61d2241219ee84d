package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/transcript"
)

// Bridge is what the user has said about writing to a session elsewhere.
type Bridge struct {
	Session string    `json:"session"`
	Allowed bool      `json:"allowed"`
	Time    time.Time `json:"time"`
}

// bridge returns what is known of a session elsewhere.
func (i Info) bridge(session string) (Bridge, bool) {
	at := slices.IndexFunc(i.Bridges, func(b Bridge) bool { return b.Session == session })
	if at < 0 {
		return Bridge{}, false
	}
	return i.Bridges[at], true
}

// without returns the bridges but one. The slice of i stays as it is.
func (i Info) without(session string) []Bridge {
	return slices.DeleteFunc(slices.Clone(i.Bridges), func(b Bridge) bool { return b.Session == session })
}

// decide returns i with what the user has said of a session.
func (i Info) decide(session string, allowed bool) (Info, error) {
	if err := validID(session); err != nil {
		return i, err
	}
	i.Bridges = append(i.without(session), Bridge{Session: session, Allowed: allowed, Time: time.Now().UTC().Truncate(time.Second)})
	return i, nil
}

// forget returns i as if the user had never been asked about a session.
func (i Info) forget(session string) (Info, error) {
	if _, known := i.bridge(session); !known {
		return i, fmt.Errorf("nothing was said about session %q; what was is listed by: swarm bridge list", session)
	}
	i.Bridges = i.without(session)
	return i, nil
}

// SetBridge keeps whether messages may go to a session elsewhere. It returns when
// that is on disk.
func (s *Session) SetBridge(session string, allowed bool) error {
	err := s.changeInfo(func(i Info) (Info, error) { return i.decide(session, allowed) })
	if err == nil {
		s.abroad.poke()
	}
	return err
}

// WithdrawBridge forgets what was said about a session elsewhere: the user is
// asked again before the next message goes there.
func (s *Session) WithdrawBridge(session string) error {
	return s.changeInfo(func(i Info) (Info, error) { return i.forget(session) })
}

func (s *Session) changeInfo(change func(Info) (Info, error)) error {
	s.infoMu.Lock()
	defer s.infoMu.Unlock()
	next, err := change(s.info)
	if err != nil {
		return err
	}
	if err := next.write(); err != nil {
		return err
	}
	s.info.Bridges = next.Bridges
	return nil
}

// SetBridge is Session.SetBridge for a session that does not run.
func SetBridge(ctx context.Context, info Info, session string, allowed bool) error {
	return changeKept(ctx, info, func(i Info) (Info, error) { return i.decide(session, allowed) })
}

// WithdrawBridge is Session.WithdrawBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i Info) (Info, error) { return i.forget(session) })
}

// changeKept writes the file of a session that nobody runs, and keeps others from
// running it meanwhile.
func changeKept(ctx context.Context, info Info, change func(Info) (Info, error)) (err error) {
	k, err := openKept(ctx, info, transcript.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	now, err := readInfo(filepath.Join(info.Path, infoFile)) // it may have run since
	if err != nil {
		return err
	}
	if now, err = change(now); err != nil {
		return err
	}
	return now.write()
}

// consents ask the user before the first message leaves for a session elsewhere.
type consents struct {
	s *Session

	mu   sync.Mutex
	open map[string]*letterReply // by session; guarded by mu
}

// of says whether the letters of a forwarder may leave: taken is yes, held that the
// user is asked. What was said is kept with the session.
func (c *consents) of(f *forwarder) letterReply {
	if b, known := c.s.Info().bridge(f.session); known {
		return b.verdict()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.open[f.session]; r != nil {
		if r.State != letterHeld {
			delete(c.open, f.session) // it was not kept: the next letter asks again
		}
		return *r
	}
	return c.inquire(f)
}

func (b Bridge) verdict() letterReply {
	if b.Allowed {
		return letterReply{State: letterTaken}
	}
	return letterReply{State: letterRefused, Reason: fmt.Sprintf("the user lets no messages go there (changed by: swarm bridge allow %s)", b.Session)}
}

// inquire asks the user; mu is held.
func (c *consents) inquire(f *forwarder) letterReply {
	q, err := c.s.agents.Inquire(f.m.Transcript(), []event.Choice{aboutBridge(f.session)}, func(_ string, said ask.Settlement) error {
		return c.settle(f.session, said)
	})
	if err != nil {
		return letterReply{State: letterRefused, Reason: fmt.Sprintf("the user has not consented to messages to this session, and cannot be asked: %v (consent is given by: swarm bridge allow %s)", err, f.session)}
	}
	if c.open == nil {
		c.open = map[string]*letterReply{}
	}
	r := letterReply{State: letterHeld, Reason: "the user is asked whether messages may go there"}
	c.open[f.session] = &r
	c.s.abroad.begin(func() {
		if _, err := q.Wait(c.s.abroad.ctx); err != nil && c.s.abroad.ctx.Err() == nil {
			c.s.opts.Logger.Warn("the user's word on a session elsewhere could not be kept", "session", f.session, "error", err)
			c.settled(f.session, nil) // the next post asks again
		}
		f.poke()
	})
	return r
}

const (
	letItGo = "Allow"
	keepIt  = "Refuse"
)

func aboutBridge(session string) event.Choice {
	return event.Choice{
		Header:   "Bridge",
		Question: fmt.Sprintf("May the agents of this session write to session %s, which is reached through the NATS server and may be of somebody else?", session),
		Options:  []event.Option{{Label: letItGo, Description: "from now on, until you withdraw it by: swarm bridge withdraw " + session}, {Label: keepIt, Description: "no message goes there"}},
	}
}

// settle keeps what the user has said. Silence is no consent, and is not kept.
func (c *consents) settle(session string, said ask.Settlement) error {
	if said.State == ask.Expired {
		c.settled(session, &letterReply{State: letterRefused, Reason: "the user did not say in time whether messages may go there"})
		return nil
	}
	allowed := slices.Contains(append(slices.Concat(said.Answer.Choices...), said.Answer.Text), letItGo)
	if err := c.s.SetBridge(session, allowed); err != nil {
		return err
	}
	c.settled(session, nil)
	return nil
}

// settled notes the end of a question; nil is that the file says the rest.
func (c *consents) settled(session string, r *letterReply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r == nil {
		delete(c.open, session)
		return
	}
	c.open[session] = r
}
