package node

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/defcheck"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

const (
	// serverWait is for how long an agent's start waits for MCP servers.
	serverWait = 5 * time.Second
	// maxServerText is how much of a result of an MCP server a conversation gets.
	maxServerText = 100_000
)

// newServers returns the connections to the session's MCP servers. Those of the owner start
// at once, those of another process when one of its agents has their tools.
func (n *Node) newServers(scope context.Context) *mcpclient.Clients {
	c := mcpclient.New(scope, mcpclient.Options{
		Servers: n.options.Servers, Dir: n.options.Dir, Roots: n.options.AddDirs, Env: builtin.Marks(n.options.Session, string(agent.LeadID)), Place: n.options.HookPlace(n.options.Path), Getenv: n.options.Getenv, Warn: n.Warn,
	})
	if n.services.Owner == nil {
		c.Start()
	}
	return c
}

// Servers returns how the MCP servers of this process are.
func (n *Node) Servers() []mcpclient.Status { return n.servers.Status() }

// toolNames returns the names of all tools that agents can have now.
func (n *Node) toolNames() []string { return slices.Concat(ToolNames(), n.servers.Names()) }

// leadTools returns the names of the tools of a new lead. It waits for the servers for a
// while, and names those that have not answered then.
func (n *Node) leadTools() []string {
	wait := serverWait
	if n.options.Getenv("MCP_CONNECTION_NONBLOCKING") == "0" {
		wait = time.Hour // their own time limit ends it
	}
	if late := n.servers.Await(n.scope, wait); len(late) > 0 {
		n.Warn(fmt.Sprintf("the lead starts without the tools of MCP servers that have not answered within %v: %s; agents that start when they have get them",
			wait, strings.Join(late, ", ")))
	}
	return n.Agents.ToolNames()
}

// serverTools returns the tools of MCP servers that an agent has.
func (n *Node) serverTools(spec agent.Spec) (all []tool.Tool) {
	names := slices.DeleteFunc(slices.Clone(spec.Tools), func(name string) bool { return !strings.HasPrefix(name, "mcp__") })
	if len(names) == 0 {
		return nil
	}
	n.servers.StartFor(n.scope, names, serverWait) // what comes later works when it is called
	return n.servers.Tools(names)
}

// shortened returns tools whose results are files where they are long.
func (n *Node) shortened(a agent.Spec, set []tool.Tool) (all []tool.Tool) {
	for _, t := range set {
		all = append(all, shortTool{t, n, a})
	}
	return all
}

// shortTool is a tool of an MCP server with results of limited size.
type shortTool struct {
	tool.Tool
	n *Node
	a agent.Spec
}

func (t shortTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	r, err := t.Tool.Run(ctx, c)
	if err != nil || len(r.Text) <= maxServerText {
		return r, err
	}
	path, err := t.n.outputs().save(t.a.ID, c.ID, r.Text)
	if err != nil {
		return r, err
	}
	part := strings.ToValidUTF8(r.Text[:maxServerText], "")
	r.Text = fmt.Sprintf("%s\n[cut for its size: this is the first %d of %d bytes; the whole is in %s]", part, len(part), len(r.Text), filepath.Clean(path))
	return r, nil
}

// serverOf returns the MCP server that has a tool, and where it is configured.
func (n *Node) serverOf(name string) (server, scope string, ok bool) {
	for _, s := range n.options.Servers {
		if strings.HasPrefix(name, mcpclient.ToolPrefix(s.Name)) {
			return s.Name, s.Scope, true
		}
	}
	return "", "", false
}

// ToolNames returns the names of the tools that agents of a session could have, with
// mcp__NAME__* for those of an MCP server.
func (p Parts) ToolNames() []string {
	names := ToolNames()
	for _, s := range p.Servers {
		names = append(names, mcpclient.ToolPrefix(s.Name)+"*")
	}
	return names
}

// ListedTools returns the tools of configured MCP servers that a definition lists.
func (p Parts) ListedTools(def defs.Definition) (names []string) {
	for _, entry := range def.Tools {
		for _, s := range p.Servers {
			if rest, ok := strings.CutPrefix(entry, mcpclient.ToolPrefix(s.Name)); ok && !strings.Contains(rest, "*") {
				names = append(names, entry)
			}
		}
	}
	return names
}

// maxNamed bounds the servers that one line names.
const maxNamed = 10

// NotesOnServers returns remarks about the MCP servers, one line each: what is wrong with
// their configuration, and which servers definitions name that there are none of.
func (p Parts) NotesOnServers() []string {
	missing := map[string]int{} // definitions by server
	for _, d := range p.Definitions.Set().Active {
		for name := range defcheck.ServersOf(d) {
			if !slices.ContainsFunc(p.Servers, func(s mcpclient.Server) bool { return s.Name == name }) {
				missing[name]++
			}
		}
	}
	if len(missing) == 0 {
		return p.ServerNotes
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		all = append(all, fmt.Sprintf("%.60s (%d)", term.Clean(name), missing[name]))
	}
	if len(all) > maxNamed {
		all = append(all[:maxNamed], "…")
	}
	return append(slices.Clip(p.ServerNotes), "agents list tools of MCP servers that are not configured, and do not get them: "+strings.Join(all, ", ")+"; see swarm agents check, and swarm mcp add")
}
