package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Options of a System. The zero value works.
type Options struct {
	// Logger gets panics and parkings at level error; nil discards them.
	Logger *slog.Logger

	// MaxIdleWorkers bounds the parked goroutines; 0 means two per processor and
	// at least 8. It does not bound how many actors receive at once.
	MaxIdleWorkers int

	// OnEscalation is called for every panic, restart or not. It runs on the worker
	// of the actor, so it must not block. The cause is a *Panic.
	OnEscalation func(name string, cause any)
}

// System is a set of actors and the workers that run them. All methods may be
// called concurrently.
type System struct {
	ready        chan struct{} // closed when prefix is set
	prefix       string
	log          *slog.Logger
	onEscalation func(name string, cause any)
	workers      *workers
	queues       sync.Pool // of *queues
	dropped      atomic.Uint64

	mu     sync.Mutex
	first  *cell // of the list of living actors
	actors int
	closed bool
	empty  chan struct{} // closed when closed and no actor is left
}

// New makes a System and returns at once. The first one in a process also builds
// protoactor's, some milliseconds in the background, which the first Spawn waits
// for. End it with Stop.
func New(o Options) *System {
	s := &System{
		ready:        make(chan struct{}),
		log:          o.Logger,
		onEscalation: o.OnEscalation,
		empty:        make(chan struct{}),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.MaxIdleWorkers <= 0 {
		o.MaxIdleWorkers = max(8, 2*runtime.GOMAXPROCS(0))
	}
	s.workers = newWorkers(o.MaxIdleWorkers)
	s.queues.New = func() any { return &queues{} }
	go s.prepare() // Stop waits for it
	return s
}

func (s *System) prepare() {
	defer close(s.ready)
	s.prefix = protoactor().prefix()
}

// SpawnOptions of one actor. The zero value works.
type SpawnOptions struct {
	// Restart is what happens after a panic. Actors may share it; nil is the
	// zero policy.
	Restart *RestartPolicy

	// Parked is called, on the actor's worker and before Done is closed, when the policy
	// allows no more restarts; reason is a *ParkedError.
	Parked func(name string, reason error)
}

var errNoName = errors.New("an actor needs a name, such as agent@1")

// Spawn starts an actor. b makes its behavior, on the actor's worker, and is
// called again for every restart; it never runs when Spawn fails. The error is
// ErrNameTaken while there is an actor of this name, ErrStopped after Stop.
func (s *System) Spawn(name string, b func() Behavior, o SpawnOptions) (Ref, error) {
	<-s.ready
	x := &cell{sys: s, produce: b, policy: o.Restart, parked: o.Parked}
	if err := s.add(name, x); err != nil {
		return Ref{}, fmt.Errorf("spawn actor %q: %w", name, err)
	}
	return Ref{x}, nil
}

// add holds mu throughout, so that Stop sees every actor that exists.
func (s *System) add(name string, x *cell) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case name == "":
		return errNoName
	case s.closed:
		return ErrStopped
	}
	if err := protoactor().spawn(s.prefix+name, x); err != nil {
		return err
	}
	if x.after = s.first; x.after != nil {
		x.after.before = x
	}
	s.first = x
	s.actors++
	return nil
}

func (s *System) remove(x *cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.before == nil {
		s.first = x.after
	} else {
		x.before.after = x.after
	}
	if x.after != nil {
		x.after.before = x.before
	}
	x.before, x.after = nil, nil
	if s.actors--; s.closed && s.actors == 0 {
		close(s.empty)
	}
}

// Dropped counts the messages to actors that had stopped.
func (s *System) Dropped() uint64 { return s.dropped.Load() }

// Stop stops all actors and waits until they are gone and every worker has
// ended. When ctx ends first it returns a *StopError that names the actors still
// inside Receive; they stop when that returns, and Stop may be called again to
// wait for them. It must not be called inside Receive.
func (s *System) Stop(ctx context.Context) error {
	<-s.ready // takes milliseconds, so ctx is not observed
	for n, x := range s.close() {
		Ref{x}.Stop()
		if n%64 == 63 {
			runtime.Gosched() // or every idle actor would get a goroutine at once
		}
	}
	err := s.wait(ctx, s.empty)
	s.workers.close()
	if err != nil {
		return err
	}
	return s.wait(ctx, s.workers.ended)
}

// close refuses further spawns and returns the living.
func (s *System) close() []*cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.actors == 0 {
		close(s.empty)
	}
	s.closed = true
	return s.living()
}

func (s *System) living() []*cell {
	all := make([]*cell, 0, s.actors)
	for x := s.first; x != nil; x = x.after {
		all = append(all, x)
	}
	return all
}

func (s *System) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := &StopError{Cause: context.Cause(ctx)}
	for _, x := range s.living() {
		err.Names = append(err.Names, x.name())
	}
	slices.Sort(err.Names)
	return err
}
