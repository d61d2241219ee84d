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

// AskWithin is how long a person waits for another process before it is said
// that it does not answer.
const AskWithin = 15 * time.Second

// Link is a session of another process as a person at this one talks with it.
// When that process dies, the link finds or starts another that goes on with
// the session, and requests wait for it. It owns a goroutine until Close.
type Link struct {
	ctx      context.Context
	bus      event.Bus // the facts of the other process, published here
	takeOver func(context.Context) (*swarm.Remote, error)

	leave  context.CancelFunc
	follow sync.WaitGroup

	mu        sync.Mutex
	remote    *swarm.Remote     // guarded by mu, as all below
	up        chan struct{}     // closed while remote can be asked
	end       error             // why no more comes
	agents    []actors.Status   // as they were seen last
	questions []swarm.Question  // as they were seen last
	types     []swarm.AgentType // never changes
}

// New returns the link to a session that r reaches. When its owner dies, takeOver
// reaches the next.
func New(ctx context.Context, r *swarm.Remote, types []swarm.AgentType, takeOver func(context.Context) (*swarm.Remote, error)) *Link {
	l := &Link{remote: r, up: make(chan struct{}), takeOver: takeOver, types: types}
	close(l.up)
	l.ctx, l.leave = context.WithCancel(ctx)
	return l
}

// Close leaves the session alone.
func (l *Link) Close() {
	l.leave()
	l.follow.Wait()
	l.bus.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remote.Close()
}

// Err says why the session has nothing more to tell.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

func (l *Link) Events() *event.Subscription { return l.bus.Subscribe() }
func (l *Link) Types() []swarm.AgentType    { return l.types }

// Begin begins to listen. What was cut goes on where the session is run.
func (l *Link) Begin() error {
	feed, err := l.remote.Feed(l.ctx)
	if err != nil {
		return err
	}
	l.follow.Go(func() {
		err := l.listen(feed)
		l.mu.Lock()
		l.end = err
		l.mu.Unlock()
		l.bus.Close()
	})
	return nil
}

// listen tells what happens, over the deaths of those who run the session.
func (l *Link) listen(feed *swarm.Feed) error {
	for {
		err := feed.Each(l.ctx, l.see)
		if !errors.Is(err, swarm.ErrOwnerGone) {
			return err
		}
		if feed, err = l.reach(); err != nil {
			return err
		}
	}
}

func (l *Link) see(raw []byte) error {
	e, ok, err := event.Parse(raw)
	if err == nil && ok {
		l.bus.Publish(e.Agent, e.Fact)
	}
	return err
}

func (l *Link) warn(format string, args ...any) {
	l.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: fmt.Sprintf(format, args...)})
}

// reach finds who runs the session now.
func (l *Link) reach() (*swarm.Feed, error) {
	l.mu.Lock()
	l.up = make(chan struct{})
	l.remote.Close()
	l.mu.Unlock()
	l.warn("the process that ran the session is gone; another one takes it over")
	r, err := l.takeOver(l.ctx)
	if err != nil {
		return nil, err
	}
	feed, err := r.Feed(l.ctx)
	if err != nil {
		r.Close()
		return nil, err
	}
	l.mu.Lock()
	l.remote = r
	close(l.up)
	l.mu.Unlock()
	l.warn("the session goes on; commands that were running have been cut")
	return feed, nil
}

// ask does one request of whoever runs the session.
func (l *Link) ask(f func(context.Context, *swarm.Remote) error) error {
	ctx, cancel := context.WithTimeoutCause(l.ctx, AskWithin, errors.New("the process that runs the session does not answer; look at it with: swarm ps, end it with: swarm quit"))
	defer cancel()
	return l.askIn(ctx, f)
}

func (l *Link) askIn(ctx context.Context, f func(context.Context, *swarm.Remote) error) error {
	l.mu.Lock()
	up := l.up
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

// try is ask for methods without an error: what failed is a warning.
func (l *Link) try(f func(context.Context, *swarm.Remote) error) {
	if err := l.ask(f); err != nil && l.ctx.Err() == nil {
		l.warn("%v", err)
	}
}

func (l *Link) Say(text string) error {
	return l.ask(func(ctx context.Context, r *swarm.Remote) error { return r.Say(ctx, text) })
}

func (l *Link) Send(to, text string) (posted []team.Posted, err error) {
	err = l.ask(func(ctx context.Context, r *swarm.Remote) (err error) {
		posted, err = r.Send(ctx, to, text)
		return err
	})
	return posted, err
}

func (l *Link) Interrupt() bool {
	cut := true // who does not answer may well have something to end
	l.try(func(ctx context.Context, r *swarm.Remote) (err error) {
		cut, err = r.Interrupt(ctx, "")
		return err
	})
	return cut
}

func (l *Link) InterruptAgent(name string) (cut bool, err error) {
	err = l.ask(func(ctx context.Context, r *swarm.Remote) (err error) {
		cut, err = r.Interrupt(ctx, name)
		return err
	})
	return cut, err
}

func (l *Link) BackgroundForeground() (moved []string) {
	l.try(func(ctx context.Context, r *swarm.Remote) (err error) {
		moved, err = r.BackgroundForeground(ctx)
		return err
	})
	return moved
}

func (l *Link) SetModel(name string) error {
	return l.ask(func(ctx context.Context, r *swarm.Remote) error { return r.SetModel(ctx, name) })
}

func (l *Link) Compact(ctx context.Context, name string) error {
	return l.askIn(ctx, func(ctx context.Context, r *swarm.Remote) error { return r.Compact(ctx, name) })
}

func (l *Link) Stop(ctx context.Context, name string) error {
	return l.askIn(ctx, func(ctx context.Context, r *swarm.Remote) error { return r.Stop(ctx, name) })
}

// Agents returns the agents, or how they were seen last.
func (l *Link) Agents() []actors.Status {
	var seen []actors.Status
	err := l.ask(func(ctx context.Context, r *swarm.Remote) (err error) {
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

// Questions returns what is asked, or what was asked last.
func (l *Link) Questions() []swarm.Question {
	var seen []swarm.Question
	err := l.ask(func(ctx context.Context, r *swarm.Remote) (err error) {
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

// Teams returns the teams; none when nobody answers.
func (l *Link) Teams() (all []team.Team) {
	l.try(func(ctx context.Context, r *swarm.Remote) (err error) {
		all, err = r.Teams(ctx)
		return err
	})
	return all
}

func (l *Link) Team(_ context.Context, name string) (status team.Status, err error) {
	err = l.ask(func(ctx context.Context, r *swarm.Remote) (err error) {
		status, err = r.Team(ctx, name)
		return err
	})
	return status, err
}

func (l *Link) Answer(id string, answer swarm.Answer) error {
	return l.ask(func(ctx context.Context, r *swarm.Remote) error { return r.Answer(ctx, id, answer) })
}
