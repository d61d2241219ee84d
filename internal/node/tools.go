package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/confine"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/redact"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/trust"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// AllToolNames returns the names of all tools that agents can have.
func AllToolNames() []string { return slices.Concat(ToolNames(), tools.Names()) }

// tools returns the tools that an agent can have.
func (n *Node) tools(a coordinator.Agent) coordinator.Toolbox {
	by := n.options.Sandbox
	set := builtin.New(builtin.Env{
		Dir: a.Spec.Dir, OutputDir: n.outputs().of(a.Spec.ID),
		Home: n.options.Home, AddDirs: slices.Concat(n.options.AddDirs, n.options.Rules.Dirs()), Conceals: n.conceals(a.Spec),
		Denied: n.denied(a.Spec), Bounds: n.bounds(a.Spec), Reads: by.AllowRead, Writes: by.AllowWrite, Fixed: by.DenyWrite,
		MaxCPU: by.Limits.CPU, MaxFileSize: by.Limits.FileSize, MaxMemory: by.Limits.Memory, MaxOpenFiles: by.Limits.OpenFiles,
		MaxProcesses: by.Totals.Processes, MaxTotalMemory: by.Totals.Memory,
		Hidden: append(n.options.hidden(), by.DenyRead...), Shown: n.shown(),
		Sandboxed: by.Enabled, Unsandboxed: by.Unsandboxed, Sockets: by.Network.Sockets, Network: n.network(a.Spec),
		Tag: string(a.Spec.ID), Session: n.options.Session, Getenv: n.options.Getenv, Scope: n.scope, Variables: n.variables.List,
		OnDir:  func(ctx context.Context, from, to string) { n.hooks.CwdChanged(ctx, a.Transcript.Spec(), from, to) },
		OnTask: func(t builtin.Task) { n.commandEnded(a.Transcript, t) },
	})
	return coordinator.Toolbox{
		Tools: slices.Concat(n.options.redacted(set), n.shortened(a.Spec, n.options.redacted(n.serverTools(a.Spec))), n.Roster.Tools(a), n.Roster.TaskTools(a, n.Boards, n.TaskListOf)),
		Close: n.Toolsets.Add(a.Spec.ID, set),
	}
}

// keyNames are the variables with which swarm itself shows who it is.
var keyNames = []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY"}

// redacted returns tools whose output has no keys, unless SWARM_REDACT is off.
func (c Config) redacted(set []tool.Tool) []tool.Tool {
	if c.Getenv("SWARM_REDACT") == "off" {
		return set
	}
	var keys []string
	for _, name := range keyNames {
		keys = append(keys, c.Getenv(name))
	}
	return redact.New(keys...).Tools(set)
}

// hidden returns what swarm keeps of all sessions, with their sockets, which commands
// do not see. The parts are named too, for agents that work where it is kept.
func (c Config) hidden() []string {
	state := c.StateDir
	return []string{state, filepath.Join(state, "projects"), filepath.Join(state, "run"), filepath.Join(state, trust.FileName), session.SocketDir()}
}

// HookPlace returns what hooks do not see: what commands do not, and the session's socket.
// Of the session at a path they see the conversations and outputs that they are told of.
func (c Config) HookPlace(path string) sandbox.Place {
	p := sandbox.Place{Dirs: append([]string{c.Dir}, c.AddDirs...), Home: c.Home, Hidden: c.hidden(), Getenv: c.Getenv}
	if path != "" {
		p.Shown = []string{filepath.Join(path, "transcripts"), filepath.Join(path, "outputs")}
	}
	return p
}

// shown returns what they do see of it: the record of their session and its socket, on
// which the server lets a command observe and be a member.
func (n *Node) shown() []string {
	info := session.Info{ID: n.options.Session}
	return []string{info.Socket(n.options.StateDir), filepath.Join(n.options.Root, session.RecordName)}
}

// conceals returns what of the files that a search finds it may not show to an agent: what
// is private, and what the rules of the last decision conceal.
func (n *Node) conceals(spec agent.Spec) func(path string) bool {
	of := latest(n.options.Rules.Version, func() func(path string) bool { return permission.Conceals(n.searched(spec), spec.Dir) })
	private := n.private(spec)
	return func(path string) bool {
		now := of()
		return private(path) || now != nil && now(path)
	}
}

// network returns what an agent's commands under the profile edit reach, by the rules of
// the last decision, or nil.
func (n *Node) network(spec agent.Spec) func() builtin.Network {
	by := n.options.Sandbox
	if !by.Outlet(sandbox.Probe()) {
		return nil
	}
	return latest(n.options.Rules.Version, func() builtin.Network {
		allowed, denied := by.Hosts(n.searched(spec))
		return builtin.Network{Allowed: allowed, Denied: denied, ProxyPort: by.Network.ProxyPort}
	})
}

// denied returns what the rules keep commands from, by the rules of the last decision.
func (n *Node) denied(spec agent.Spec) func() func(path string, unasked bool) (read, change bool) {
	return latest(n.options.Rules.Version, func() func(path string, unasked bool) (read, change bool) {
		return permission.Denials(n.searched(spec), spec.Dir)
	})
}

// bounds returns what an agent's commands may not change, and may below that. It is found
// out once.
func (n *Node) bounds(spec agent.Spec) func() (fixed, free []string, err error) {
	var mu sync.Mutex
	var known bool
	var fixed, free []string
	return func() ([]string, []string, error) {
		mu.Lock()
		defer mu.Unlock()
		if known {
			return fixed, free, nil
		}
		var err error
		fixed, free, err = n.directories.Bounds(n.scope, spec)
		known = err == nil
		return fixed, free, err
	}
}

// latest returns a function that makes a value anew when its version has changed. It may
// be called concurrently.
func latest[T any](version func() int, makeIt func() T) func() T {
	var mu sync.Mutex
	var value T
	made := -1
	return func() T {
		mu.Lock()
		defer mu.Unlock()
		if v := version(); v != made {
			made, value = v, makeIt()
		}
		return value
	}
}

// searched returns the rules with the directories that an agent searches.
func (n *Node) searched(spec agent.Spec) permission.Policy {
	return n.options.Rules.Fill(permission.Policy{Dirs: n.workingDirs(spec), Home: n.options.Home, Resolve: Resolve})
}

// commandEnded notifies an agent by message that a background command of its own has
// ended, unless somebody has ended it.
func (n *Node) commandEnded(a *transcript.Transcript, t builtin.Task) {
	if n.scope.Err() != nil || errors.Is(t.Reason, builtin.ErrTaskStopped) || errors.Is(t.Reason, builtin.ErrClosed) {
		return
	}
	spec, how := a.Spec(), fmt.Sprintf("exit code %d", t.ExitCode)
	if t.Reason != nil {
		how = "ended: " + t.Reason.Error()
	}
	_, _, err := a.Send(mailbox.Envelope{
		To: mailbox.Address{Agent: spec.ID}, FromName: "Bash", ToName: agent.DisplayName(spec), Kind: mailbox.KindAgentReport,
		Summary: mailbox.FirstLine(fmt.Sprintf("background command %s: %s: %s", t.ID, how, t.Command), 180),
		Body:    fmt.Sprintf("The command ran %v. Its output is in %s.", t.Ended.Sub(t.Started).Round(time.Millisecond), t.Output),
	})
	if err != nil {
		n.options.Logger.Warn("the agent could not be notified that its background command has ended", "agent", spec.ID, "task", t.ID, "error", err)
	}
}

// removeLeftovers removes what commands of killed processes have left in directories.
func (n *Node) removeLeftovers() {
	_, err := confine.RemoveLeftovers()
	place := sandbox.Place{Dirs: append([]string{n.options.Dir}, n.options.AddDirs...), Home: n.options.Home}
	if err = errors.Join(err, place.RemovePlaceholders()); err != nil {
		n.options.Logger.Warn("what commands of an earlier run have left could not be removed", "error", err)
	}
}
