// Package coordinatortest runs a coordinator over a real journal and an in-memory wire,
// without a server, for tests of what agents do together:
//
//	n := coordinatortest.New(t, t.TempDir(), model, coordinatortest.Options{})
//	n.Begin(t)
//	record := n.Say(t, "hello") // when all agents rest
package coordinatortest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/actors/kernel"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Options adjust a Node. The zero value is a node with no tools but those of
// package coordinator.
type Options struct {
	Policy spawn.Policy
	Tools  []tool.Tool
	// MoreTools are made for each agent, as those of package team; their names
	// are in MoreNames.
	MoreTools func(*coordinator.Coordinator, coordinator.Agent) []tool.Tool
	MoreNames []string
	Agents    string            // the value of --agents
	Disk      journal.FS        // nil is the operating system's
	Segment   int64             // of the journal, in bytes; 0 is the journal's default
	Wire      mailbox.Transport // nil is a wire of its own, in memory
	// Permission judges the calls of an agent; nil allows everything.
	Permission func(agent.Spec) permission.Policy
	// Grant takes the rules of answers that hold for always.
	Grant   func(rules []string, scope string) error
	Restart *kernel.RestartPolicy
	// Window is that of every model, in tokens; 0 is more than any test fills.
	Window int64
	Spill  func(a mailbox.AgentID, id, text string) (string, error)
	Budget budget.Limits
	Prices *price.Table
	// NoModel, if not nil, returns why there is no model now, or nil.
	NoModel func() error
}

// Node is a coordinator that can be begun and ended like a session.
type Node struct {
	*coordinator.Coordinator
	Store *transcript.Store
	Bus   *event.Bus
	Lead  *transcript.Transcript

	courier *mailbox.Courier
	end     context.CancelCauseFunc
	once    sync.Once
}

// Start starts a node in a directory of its own. The test ends it.
func Start(t testing.TB, m model.Model, o Options) *Node {
	t.Helper()
	n := New(t, t.TempDir(), m, o)
	n.Begin(t)
	return n
}

// New opens the node in dir without beginning it. The test ends it.
func New(t testing.TB, dir string, m model.Model, o Options) *Node {
	t.Helper()
	n := &Node{Bus: &event.Bus{}}
	var err error
	n.Store, err = transcript.Open(t.Context(), dir, "session", transcript.Options{
		Journal: journal.Options{FS: o.Disk, SegmentBytes: o.Segment},
		NoLines: true, Prices: o.Prices,
		StateChanged: func(sender mailbox.AgentID, ids []mailbox.ID, state mailbox.State) {
			n.Bus.Publish(event.Agent{ID: sender}, event.MailStateChanged{IDs: ids, State: state})
			n.Notify()
		},
		Arrived: func(e mailbox.Envelope) { n.Bus.Publish(event.Agent{ID: e.To.Agent}, event.MailArrived{Envelope: e}) },
	})
	must(t, err)
	n.Coordinator = coordinator.New(n.options(t, m, o))
	if o.Wire == nil {
		o.Wire = mailbox.NewMemory()
	}
	n.courier = mailbox.NewCourier(o.Wire, n.Store, mailbox.CourierOptions{Wake: n.Wake})
	n.openLead(t, dir)
	t.Cleanup(func() { n.End(t) })
	return n
}

func (n *Node) options(t testing.TB, m model.Model, o Options) coordinator.Options {
	t.Helper()
	set, err := defs.Load(defs.Options{FlagJSON: o.Agents})
	must(t, err)
	names := append([]string(nil), o.MoreNames...)
	for _, u := range o.Tools {
		names = append(names, u.Spec().Name)
	}
	if o.Permission == nil {
		o.Permission = func(agent.Spec) permission.Policy { return permission.Policy{Mode: permission.Bypass} }
	}
	if o.Window == 0 {
		o.Window = 1 << 40
	}
	return coordinator.Options{
		Window: func(string) int64 { return o.Window }, Spill: o.Spill, MailPath: func(_ mailbox.AgentID, ref mailbox.Ref) string { return n.Store.BodyPath(ref) },
		Store: n.Store, Policy: o.Policy, Definitions: func() *defs.Set { return set }, Events: n.Bus, ToolNames: func() []string { return names },
		Model: func(name string) (model.Model, string, error) {
			if o.NoModel != nil {
				return m, name, o.NoModel()
			}
			return m, name, nil
		},
		Tools: func(a coordinator.Agent) coordinator.Toolbox {
			all := append([]tool.Tool(nil), o.Tools...)
			if o.MoreTools != nil {
				all = append(all, o.MoreTools(n.Coordinator, a)...)
			}
			return coordinator.Toolbox{Tools: all}
		},
		System:     func(s agent.Spec, _ defs.Definition) []string { return []string{"you are " + string(s.ID)} },
		Permission: o.Permission, Grant: o.Grant, Restart: o.Restart, Budget: o.Budget, Prices: o.Prices,
		Receipt: func(r mailbox.Receipt) { n.courier.SendReceipt(r) },
	}
}

func (n *Node) openLead(t testing.TB, dir string) {
	t.Helper()
	var ok bool
	if n.Lead, ok = n.Store.Get(agent.LeadID); ok {
		return
	}
	var err error
	n.Lead, _, err = n.Store.Create(agent.Spec{
		ID: agent.LeadID, Name: agent.LeadName, Role: agent.Lead, Model: "m", Mode: "default",
		Tools: n.ToolNames(), Dir: dir, Born: time.Now(),
	})
	must(t, err)
}

// Begin starts the wire and the agents.
func (n *Node) Begin(t testing.TB) {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	n.end = end
	must(t, n.courier.Start(ctx, n.Store.Cursor(), n.Store.Pending()))
	n.Store.Ship(n.courier.Send)
	must(t, n.Start(ctx))
}

// Cancel ends the scope in which the agents live, as a session's may end.
func (n *Node) Cancel(cause error) { n.end(cause) }

// End is what a clean stop of a session does; it may be called more than once.
func (n *Node) End(t testing.TB) {
	n.once.Do(func() {
		must(t, n.shut(t))
		must(t, n.Store.Close())
	})
}

// Abandon ends the goroutines of a node whose disk has crashed; what they could
// not write is what a killed process could not.
func (n *Node) Abandon(t testing.TB) {
	n.once.Do(func() {
		if err := n.shut(t); err != nil {
			t.Log("after the crash:", err)
		}
		if err := n.Store.Close(); err != nil {
			t.Log("after the crash:", err)
		}
	})
}

func (n *Node) shut(t testing.TB) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := n.Shutdown(ctx); err != nil {
		return err
	}
	return n.courier.Stop()
}

// Say gives the lead a prompt and waits until all agents rest.
func (n *Node) Say(t testing.TB, prompt string) agent.Record {
	t.Helper()
	must(t, n.Lead.Prompt("user", prompt))
	n.Wake(agent.LeadID)
	return n.AwaitRest(t)
}

// Until waits until cond holds. It checks at every event, so cond must be about
// something that an event reports.
func (n *Node) Until(t testing.TB, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sub := n.Bus.Subscribe()
	defer sub.Close()
	for !cond() {
		if _, err := sub.Next(ctx); err != nil {
			t.Fatalf("what the test waits for does not come: %v; %+v", err, n.Status())
		}
	}
}

// AwaitRest waits until all agents rest.
func (n *Node) AwaitRest(t testing.TB) agent.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := n.Quiet(ctx); err != nil {
		t.Fatalf("the swarm does not come to rest: %v; %+v", err, n.Status())
	}
	return n.Lead.Record()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
