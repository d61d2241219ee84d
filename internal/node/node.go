package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/agenthook"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/hookenv"
	"github.com/actorswarm/swarm/internal/isolation"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Options configure Open. UserPlace and Journal are optional.
type Options struct {
	Config
	Parts
	Session string // its id
	Root    string // directory of the session, which all its processes share
	Path    string // directory of the files of this process

	UserPlace agent.Place // where the user's mail is; "" is here
	Journal   journal.Options
}

// Services are what a node needs of the process around it. Remote and Owner are nil if
// no agent lives in another process; everything else is required.
type Services struct {
	// OpenBoard opens the store of a task list.
	OpenBoard func(ctx context.Context, list string) (board.Store, error)
	// Receipt sends a receipt to another process. It reports false if it cannot yet; then
	// the receipt is for an agent of this process.
	Receipt func(mailbox.Receipt) bool
	// Arrived is called for each message that has arrived and is on disk.
	Arrived func(to agent.Spec, e mailbox.Envelope)
	Gone    func(ctx context.Context, id mailbox.AgentID) error // coordinator.Options.Gone
	Audit   func(event.Audit)                                   // coordinator.Options.Audit
	// IsGone reports whether an agent of which this node has no record has ended for good.
	IsGone func(mailbox.AgentID) bool

	Remote coordinator.RemoteAgents
	Owner  coordinator.Owner
}

// Node is the part that all processes of a session have. Its fields are set by Open and
// Start and then do not change; its methods may be called from any goroutine.
type Node struct {
	Store  *transcript.Store
	Events *event.Bus

	Agents   *coordinator.Coordinator
	Roster   *roster.Roster
	Boards   *roster.Boards
	Teams    *roster.Manager
	Lead     *Lead
	Toolsets Toolsets

	options     Options
	policy      spawn.Policy
	directories *isolation.Directories
	hooks       *agenthook.Hooks
	variables   *hookenv.Variables
	hookFiles   *hookFiles
	servers     *mcpclient.Clients
	services    Services
	scope       context.Context
	watcher     sync.WaitGroup

	wakeOnce sync.Once
	wakeErr  error
}

// Open opens the journal of a node. Agents work after Start and Wake.
func Open(ctx context.Context, o Options) (*Node, error) {
	if err := agenthook.CheckDepth(o.Getenv); err != nil {
		return nil, &session.OptionError{Err: err}
	}
	n := &Node{options: o, policy: o.PolicyOf(o.Session, o.Rules), Events: new(event.Bus)}
	var err error
	n.Store, err = transcript.Open(ctx, o.Path, o.Session, transcript.Options{
		Journal: o.Journal, Prices: o.Prices, StateChanged: n.acknowledged, Arrived: n.arrived, IsGone: n.isGone,
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// Prepare starts work that can run concurrently with the rest of the start.
func (n *Node) Prepare(scope context.Context) { n.options.Definitions.prepare(scope) }

// Start creates the agents, which live until scope ends; Wake lets them work. Start
// calls fail if the journal can no longer write.
func (n *Node) Start(scope context.Context, s Services, fail func(error)) error {
	n.scope, n.services = scope, s
	if _, err := builtin.Reap(n.options.Session); err != nil {
		n.options.Logger.Warn("processes of an earlier run could not be searched for", "error", err)
	}
	n.removeLeftovers()
	n.directories = n.options.Isolation(n.options.Session, n.options.Root, n.options.Path, n.Store)
	n.variables = hookenv.Open(n.options.Root, n.options.Getenv)
	n.servers = n.newServers(scope)
	n.hooks = n.newHooks(scope, fail)
	n.Agents = coordinator.New(n.actorOptions())
	n.Roster = roster.New(n.Agents)
	n.Roster.ConnectHooks(n.hooks)
	n.Lead = NewLead(LeadOptions{
		Scope: scope, Store: n.Store, Hooks: n.hooks, Agents: n.Agents, Resolve: n.options.Models.Default, CheckBudget: n.CheckBudget, Tools: n.leadTools, Instructions: n.options.Definitions.instructions,
		Model: n.options.Model, Mode: n.options.Mode, Dir: n.options.Dir, MaxTurns: n.options.MaxTurns,
	})
	if err := n.createUser(); err != nil {
		return err
	}
	n.Boards = roster.NewBoards(n.Agents, s.OpenBoard, board.Options{})
	n.Teams = roster.NewManager(n.Agents, n.Roster, n.Boards, roster.ManagerOptions{Team: n.policy.Team, List: n.TaskListOf})
	n.options.Definitions.follow(scope, n.warnRedefined, func(err error) {
		n.Warn(err.Error() + "; the definitions stay as they were")
	})
	n.options.Rules.Warn(n.Warn)
	n.watcher.Go(func() { n.watchStore(fail) })
	n.watcher.Go(n.watchFiles)
	return nil
}

func (n *Node) actorOptions() coordinator.Options {
	o := coordinator.Options{
		Store: n.Store, Policy: n.policy, Definitions: n.options.Definitions.Set, Events: n.Events, Logger: n.options.Logger,
		Model: n.options.Models.Find, System: n.options.Definitions.System, Window: n.window, Budget: n.options.Budget, Prices: n.options.Prices,
		Tools: n.tools, ToolNames: n.toolNames, Denied: n.options.Rules.Denies, Permission: n.permission, Hooks: n.hooks, Auto: n.newAutoJudge(), Grant: n.options.Rules.Allow,
		Isolate: n.isolate, Facts: n.openTasksText, Spill: n.outputs().save, MailPath: n.outputs().mail, Receipt: n.SendReceipt,
		Release: n.services.Gone, Audit: n.services.Audit, Remote: n.services.Remote, Owner: n.services.Owner,
	}
	if o.Owner != nil {
		o.Policy.Where = "" // processes are the owner's, and so are rules, which it has added before
		o.Grant = n.options.Rules.AddGranted
	}
	return o
}

// watchStore calls fail when the journal fails: the node does nothing that it cannot
// record.
func (n *Node) watchStore(fail func(error)) {
	select {
	case <-n.Store.Failed():
		fail(fmt.Errorf("the journal of session %s failed and the session was stopped; what was accepted is safe: %w", n.options.Session, n.Store.Err()))
	case <-n.scope.Done():
	}
}

// Wake starts the agents. Turns that were cut off continue.
func (n *Node) Wake() error {
	n.wakeOnce.Do(func() {
		if t, ok := n.Store.Get(agent.LeadID); ok && n.services.Owner == nil {
			n.Lead.begin(t.Spec())
		}
		n.wakeErr = n.Agents.Start(n.scope)
	})
	return n.wakeErr
}

// Quiet returns when all agents are at rest: no turn runs, and no message is unread or
// in transit.
func (n *Node) Quiet(ctx context.Context) error {
	ctx, cancel := JoinContexts(ctx, n.scope)
	defer cancel()
	err := n.Agents.Quiet(ctx)
	if err == nil && n.Store.Err() != nil {
		<-n.scope.Done() // the agents rest because the journal has failed
		err = context.Cause(n.scope)
	}
	return err
}

// JoinContexts returns a context that ends when a or b does.
func JoinContexts(a, b context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Shutdown stops the agents and leaves their turns open. It returns when ctx ends at
// the latest. Processes of their tools end with Toolsets.
func (n *Node) Shutdown(ctx context.Context) error {
	n.options.Definitions.Stop()
	if n.Agents == nil {
		return nil
	}
	err := n.Agents.Shutdown(ctx)
	if n.services.Owner == nil {
		n.Lead.end(context.WithoutCancel(ctx))
	}
	return err
}

// Close closes the journal and ends the events. The scope must have ended.
func (n *Node) Close() error {
	n.watcher.Wait()
	if n.hooks != nil {
		n.hooks.Wait()
		n.servers.Close()
	}
	n.Events.Close()
	return n.Store.Close()
}

// createUser creates the transcript of the user's messages if it does not exist.
func (n *Node) createUser() error {
	if _, ok := n.Store.Get(agent.UserID); ok {
		return nil
	}
	spec := agent.Spec{ID: agent.UserID, Name: "user", Role: agent.User, Born: time.Now(), Where: n.options.UserPlace}
	_, _, err := n.Store.Create(spec)
	return err
}

// acknowledged publishes that messages of a sender have a new state.
func (n *Node) acknowledged(sender mailbox.AgentID, ids []mailbox.ID, state mailbox.State) {
	if t, ok := n.Store.Get(sender); ok && n.Events.HasSubscribers() {
		n.Events.Publish(agent.Describe(t.Spec()), event.MailStateChanged{IDs: ids, State: state})
	}
	if n.Agents != nil {
		n.Agents.Notify()
	}
}

func (n *Node) arrived(e mailbox.Envelope) {
	t, ok := n.Store.Get(e.To.Agent)
	if !ok {
		return
	}
	if n.Events.HasSubscribers() {
		n.Events.Publish(agent.Describe(t.Spec()), event.MailArrived{Envelope: e})
	}
	if n.services.Arrived != nil {
		n.services.Arrived(t.Spec(), e)
	}
}

// isGone reports whether an agent has ended for good, so that mail to it is
// acknowledged as dead.
func (n *Node) isGone(id mailbox.AgentID) bool {
	if n.services.Owner != nil || n.services.IsGone == nil {
		return false // the owner acknowledges such mail
	}
	if t, ok := n.Store.Get(id); ok {
		return coordinator.Final(t.Record())
	}
	return n.services.IsGone(id)
}

// SendReceipt sends a receipt to its process. While there is no connection to other
// processes, all agents live here, and their transcripts take the receipt directly.
func (n *Node) SendReceipt(r mailbox.Receipt) {
	if !n.services.Receipt(r) {
		n.Store.Acknowledge(r)
	}
}

// permission returns the policy for an agent's calls.
func (n *Node) permission(spec agent.Spec) permission.Policy {
	p := n.options.Permissions(spec, n.options.Rules, n.options.Sandbox)
	p.Boundary, p.Dirs, p.Private = n.directories.Boundary(n.scope, spec), n.workingDirs(spec), n.private(spec)
	return p
}

// workingDirs returns the directories in which an agent works.
func (n *Node) workingDirs(spec agent.Spec) []string {
	return slices.Concat([]string{spec.Dir}, n.outputs().readable(spec), n.options.AddDirs, n.options.Rules.Dirs())
}

// private returns what reports the files of the state directory that no tool of an agent
// reaches.
func (n *Node) private(spec agent.Spec) func(path string) bool {
	return n.options.private(n.options.Root, append(n.outputs().readable(spec), spec.Dir))
}

// TaskListOf returns the name of the task list of a team, given the team's id.
func (n *Node) TaskListOf(teamID string) string {
	if teamID == "" || teamID == n.policy.Team {
		return n.options.TaskList(n.options.Session)
	}
	return teamID
}

// CheckBudget returns an error if the session's limit of money cannot be enforced for a
// model: if there is no price for it, or for a model that was used before. It is a
// *session.OptionError.
func (n *Node) CheckBudget(name string) error {
	if n.options.Budget.Money == 0 {
		return nil
	}
	if err := n.Agents.Priced(name, agent.LeadID); err != nil {
		return &session.OptionError{Err: err}
	}
	return nil
}

// window returns the size of a model's context window in tokens, or 0 if it is not
// known.
func (n *Node) window(id string) int64 {
	w := int64(n.options.Window)
	if w == 0 {
		w = n.options.Prices.Window(id)
	}
	if limit := int64(n.options.CompactWindow); limit > 0 && (w == 0 || limit < w) {
		w = limit
	}
	return w
}

// isolate leases a directory for an isolated agent.
func (n *Node) isolate(ctx context.Context, spec agent.Spec, incarnation uint32) (*agent.Isolation, error) {
	lease, err := n.directories.Lease(ctx, spec, incarnation)
	if err != nil {
		return nil, err
	}
	return &agent.Isolation{Dir: lease.Dir, Release: lease.Release}, nil
}

// PublishAudit publishes a refusal in the name of the agent that was refused, or of the
// lead.
func (n *Node) PublishAudit(e event.Audit) {
	about := event.Agent{ID: agent.LeadID, Name: agent.LeadName}
	if t, ok := n.Agents.Find(e.By); ok {
		about = agent.Describe(t.Spec())
	}
	n.Events.Publish(about, e)
}

// Record returns the journal's record of agents and mail.
func (n *Node) Record() archive.Record { return archive.Record{Store: n.Store, Agents: n.Agents} }

// IsRunning reports whether an agent is in a turn in this process.
func (n *Node) IsRunning(id mailbox.AgentID) bool {
	for _, a := range n.Agents.Status() {
		if a.Record.Spec.ID == id {
			return a.Running
		}
	}
	return false
}
