package defs

import (
	"go.yaml.in/yaml/v3"
)

// setMore sets the fields that concern more than the agent itself.
func (p *parser) setMore(d *Definition, f field) {
	switch f.key {
	case "hooks":
		p.setHooks(d, f)
	case "mcpServers":
		d.MCPServers = p.servers(f)
	case "requiredMcpServers":
		d.RequiredMCPServers = p.list(f)
	case "forkContext":
		d.ForkContext = p.flag(f)
	case "criticalSystemReminder":
		d.CriticalReminder = p.prose(f)
	}
}

func (p *parser) setHooks(d *Definition, f field) {
	n := resolve(f.node)
	if n.Kind != yaml.MappingNode {
		p.warn(f.line, "hooks must be a map from events to hooks, not %s; it is ignored", kind(n))
		return
	}
	raw, err := toJSON(n)
	if err != nil {
		p.warn(f.line, "hooks is ignored: %v", err)
		return
	}
	d.Hooks = raw
}

// servers reads the three forms of mcpServers: a name or names, a map from
// names to servers, and a list of names and of maps with one name each.
func (p *parser) servers(f field) []MCPServer {
	n := resolve(f.node)
	switch n.Kind {
	case yaml.ScalarNode:
		var out []MCPServer
		for _, name := range SplitTools(n.Value) {
			out = append(out, MCPServer{Name: name})
		}
		return out
	case yaml.MappingNode:
		return p.namedServers(f, n)
	}
	var out []MCPServer
	for _, c := range n.Content {
		switch c = resolve(c); c.Kind {
		case yaml.ScalarNode:
			out = append(out, MCPServer{Name: c.Value})
		case yaml.MappingNode:
			out = append(out, p.namedServers(f, c)...)
		default:
			p.warn(c.Line, "mcpServers holds %s where a name or a server is expected; the entry is ignored", kind(c))
		}
	}
	return out
}

func (p *parser) namedServers(f field, n *yaml.Node) []MCPServer {
	var out []MCPServer
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i].Value, resolve(n.Content[i+1])
		switch {
		case v.Kind == yaml.ScalarNode && v.Tag == "!!null":
			out = append(out, MCPServer{Name: name})
			continue
		case v.Kind != yaml.MappingNode:
			p.warn(max(v.Line, f.line), "the MCP server %q must be a map with a command or a url, not %s; it is ignored", shorten(name, 60), kind(v))
			continue
		case child(v, "command") == nil && child(v, "url") == nil:
			p.warn(max(v.Line, f.line), "the MCP server %q has neither a command nor a url; it is ignored", shorten(name, 60))
			continue
		}
		raw, err := toJSON(v)
		if err != nil {
			p.warn(max(v.Line, f.line), "the MCP server %q is ignored: %v", shorten(name, 60), err)
			continue
		}
		out = append(out, MCPServer{Name: name, Config: raw})
	}
	return out
}

// child returns the value of a key of a map, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}
