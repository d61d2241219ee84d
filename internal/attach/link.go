package attach

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/team"
)

// RequestTimeout is how long a request waits for the owner of the session.
const RequestTimeout = 15 * time.Second

// Link is a connection to a session of another process. When that process ends, the
// link starts or finds another owner, and requests wait for it. It owns a goroutine
// until Close.
type Link struct {
	ctx      context.Context
	bus      event.Bus // republishes the events of the session
	takeOver func(context.Context) (*swarm.Remote, error)

	cancel   context.CancelFunc
	listener sync.WaitGroup

	mu        sync.Mutex
	remote    *swarm.Remote     // guarded by mu, as all below
	reachable chan struct{}     // closed while remote can be called
	err       error             // why no more events come
	agents    []actors.Status   // as returned last
	questions []swarm.Question  // as returned last
	types     []swarm.AgentType // never changes
	mode      string            // of the session, as its owner said; only the listener
}

// New returns a link to the session that r is connected to and that w describes. When its
// owner ends, takeOver connects to the next one.
func New(ctx context.Context, r *swarm.Remote, w swarm.Welcome, takeOver func(context.Context) (*swarm.Remote, error)) *Link {
	l := &Link{remote: r, reachable: make(chan struct{}), takeOver: takeOver, types: w.Types, mode: w.Info.Mode}
	close(l.reachable)
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// Close closes the connection. It does not change the session.
func (l *Link) Close() {
	l.cancel()
	l.listener.Wait()
	l.bus.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote.Close()
}

// Err returns why there are no more events.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *Link) Events() *event.Subscription { return l.bus.Subscribe() }
func (l *Link) Types() []swarm.AgentType    { return l.types }

// Begin starts to listen to events. The owner continues turns that were cut off by
// itself.
func (l *Link) Begin() error {
	feed, err := l.remote.Feed(l.ctx)
	if err != nil {
		return err
	}
	l.listener.Go(func() {
		err := l.listen(feed)
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		l.bus.Close()
	})
	return nil
}

// listen publishes events until the session ends, over changes of the owner.
func (l *Link) listen(feed *swarm.Feed) error {
	for {
		err := feed.Each(l.ctx, l.publish)
		if !errors.Is(err, swarm.ErrOwnerGone) {
			return err
		}
		if feed, err = l.reconnect(); err != nil {
			return err
		}
	}
}

func (l *Link) publish(raw []byte) error {
	e, ok, err := event.Parse(raw)
	if err == nil && ok {
		l.bus.Publish(e.Agent, e.Fact)
	}
	return err
}

func (l *Link) warn(format string, args ...any) {
	l.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: fmt.Sprintf(format, args...)})
}

// reconnect connects to the next owner of the session.
func (l *Link) reconnect() (*swarm.Feed, error) {
	l.mu.Lock()
	l.reachable = make(chan struct{})
	l.remote.Close()
	l.mu.Unlock()
	l.warn("the process that ran the session has ended; another one takes the session over")
	r, err := l.takeOver(l.ctx)
	if err != nil {
		return nil, err
	}
	feed, err := r.Feed(l.ctx)
	if err != nil {
		r.Close()
		return nil, err
	}
	l.nameMode(r)
	l.mu.Lock()
	l.remote = r
	close(l.reachable)
	l.mu.Unlock()
	l.warn("the session continues; commands that were running were cut off")
	return feed, nil
}

// nameMode warns if the session goes on in another mode: bypassPermissions is not restored.
func (l *Link) nameMode(r *swarm.Remote) {
	ctx, cancel := context.WithTimeout(l.ctx, RequestTimeout)
	defer cancel()
	w, err := r.Hello(ctx)
	if err == nil && w.Info.Mode != l.mode {
		l.warn("the session goes on in mode %s, not in %s", w.Info.Mode, l.mode)
		l.mode = w.Info.Mode
	}
}

// call makes a request to the owner of the session.
func (l *Link) call(f func(context.Context, *swarm.Remote) error) error {
	ctx, cancel := context.WithTimeoutCause(l.ctx, RequestTimeout, errors.New("the process that runs the session does not answer; see its state with: swarm ps; end it with: swarm quit"))
	defer cancel()
	return l.callWithin(ctx, f)
}

func (l *Link) callWithin(ctx context.Context, f func(context.Context, *swarm.Remote) error) error {
	l.mu.Lock()
	up := l.reachable
	l.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	l.mu.Lock()
	r := l.remote
	l.mu.Unlock()
	err := f(ctx, r)
	if err != nil && ctx.Err() != nil && l.ctx.Err() == nil {
		return context.Cause(ctx)
	}
	return err
}

// callOrWarn is call for methods without an error: it publishes a failure as a warning.
func (l *Link) callOrWarn(f func(context.Context, *swarm.Remote) error) {
	if err := l.call(f); err != nil && l.ctx.Err() == nil {
		l.warn("%v", err)
	}
}

func (l *Link) Say(text string) error {
	return l.call(func(ctx context.Context, r *swarm.Remote) error { return r.Say(ctx, text) })
}

func (l *Link) Send(to, text string) (posted []team.SendResult, err error) {
	err = l.call(func(ctx context.Context, r *swarm.Remote) (err error) {
		posted, err = r.Send(ctx, to, text)
		return err
	})
	return posted, err
}

func (l *Link) Interrupt() bool {
	cut := true // an owner that does not answer may be in a turn
	l.callOrWarn(func(ctx context.Context, r *swarm.Remote) (err error) {
		cut, err = r.Interrupt(ctx, "")
		return err
	})
	return cut
}

func (l *Link) InterruptAgent(name string) (cut bool, err error) {
	err = l.call(func(ctx context.Context, r *swarm.Remote) (err error) {
		cut, err = r.Interrupt(ctx, name)
		return err
	})
	return cut, err
}

func (l *Link) BackgroundForeground() (moved []string) {
	l.callOrWarn(func(ctx context.Context, r *swarm.Remote) (err error) {
		moved, err = r.BackgroundForeground(ctx)
		return err
	})
	return moved
}

func (l *Link) SetModel(name string) error {
	return l.call(func(ctx context.Context, r *swarm.Remote) error { return r.SetModel(ctx, name) })
}

func (l *Link) Compact(ctx context.Context, name string) error {
	return l.callWithin(ctx, func(ctx context.Context, r *swarm.Remote) error { return r.Compact(ctx, name) })
}

func (l *Link) Stop(ctx context.Context, name string) error {
	return l.callWithin(ctx, func(ctx context.Context, r *swarm.Remote) error { return r.Stop(ctx, name) })
}

// Agents returns the agents, or the last known state of them if the owner does not
// answer.
func (l *Link) Agents() []actors.Status {
	var seen []actors.Status
	err := l.call(func(ctx context.Context, r *swarm.Remote) (err error) {
		seen, err = r.Agents(ctx)
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.agents = seen
	}
	return l.agents
}

// Questions returns the open questions, or the last known ones if the owner does not
// answer.
func (l *Link) Questions() []swarm.Question {
	var seen []swarm.Question
	err := l.call(func(ctx context.Context, r *swarm.Remote) (err error) {
		seen, err = r.Questions(ctx)
		return err
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.questions = seen
	}
	return l.questions
}

// Teams returns the teams, or none if the owner does not answer.
func (l *Link) Teams() (all []team.Team) {
	l.callOrWarn(func(ctx context.Context, r *swarm.Remote) (err error) {
		all, err = r.Teams(ctx)
		return err
	})
	return all
}

func (l *Link) Team(_ context.Context, name string) (status team.Status, err error) {
	err = l.call(func(ctx context.Context, r *swarm.Remote) (err error) {
		status, err = r.Team(ctx, name)
		return err
	})
	return status, err
}

func (l *Link) Answer(id string, answer swarm.Answer) error {
	return l.call(func(ctx context.Context, r *swarm.Remote) error { return r.Answer(ctx, id, answer) })
}
