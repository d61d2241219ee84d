package kernel

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// protoactor is the one actor system of the process. Building one takes 32,768
// maps, some milliseconds and 3 MB, and holds nothing that two Systems could
// disturb each other with: each puts its own prefix before its names.
var protoactor = sync.OnceValue(newEngine)

type engine struct {
	systems atomic.Uint64
	root    *actor.RootContext
	props   *actor.Props
	stop    *actor.Stop
	restart *actor.Restart

	mu   sync.Mutex
	next *cell // the mailbox of the actor being spawned; guarded by mu
}

func newEngine() *engine {
	sys := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler) // what matters is logged by the System concerned
	}))
	e := &engine{stop: &actor.Stop{}, restart: &actor.Restart{}}
	// One guardian for all: a strategy per spawn would be kept for ever.
	e.root = sys.Root.Copy().WithGuardian(supervisor{})
	// Props are shared too, they are larger than the rest of an actor. So the
	// producer makes nothing, and cells reach protoactor as mailboxes.
	e.props = actor.PropsFromProducer(
		func() actor.Actor { return host{} },
		actor.WithMailbox(func() actor.Mailbox { return e.next }),
	)
	return e
}

// prefix is new for every System.
func (e *engine) prefix() string {
	return strconv.FormatUint(e.systems.Add(1), 36) + "/"
}

// spawn registers x under id and posts its start.
func (e *engine) spawn(id string, x *cell) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next = x
	_, err := e.root.SpawnNamed(e.props, id)
	e.next = nil
	if errors.Is(err, actor.ErrNameExists) {
		return fmt.Errorf("%w: an actor of this name lives, spawn under a higher incarnation", ErrNameTaken)
	}
	return err
}

// host is what protoactor takes for the actor. The cell sends itself through
// protoactor for every message of a user; life cycle messages of protoactor are
// of no interest here, the cell knows before protoactor does.
type host struct{}

func (host) Receive(c actor.Context) {
	if x, ok := c.Message().(*cell); ok {
		x.receive(x.q.msg)
	}
}

// supervisor decides for every actor alike: a new behavior after a back-off, or
// the end. Protoactor calls it on the worker of the actor that failed.
type supervisor struct{}

var _ actor.SupervisorStrategy = supervisor{}

func (supervisor) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, who *actor.PID, _ *actor.RestartStatistics, reason, message any) {
	x, p := message.(*cell), reason.(*Panic)
	delay, again := x.failed(p)
	switch {
	case !again:
		sup.StopChildren(who)
	case delay == 0:
		sup.RestartChildren(who)
	default:
		x.restartAfter(delay)
	}
}
