package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/tool"
)

// Limits of what a server may offer.
const (
	maxTools       = 1000
	maxPages       = 100
	maxName        = 128 // of a tool with the name of its server, as models take it
	maxDescription = 4 << 10
	maxSchema      = 256 << 10
	maxSchemas     = 2 << 20 // of all tools together
	maxNamed       = 3       // tools that a note names
)

// listedTool is a tool of a server.
type listedTool struct {
	name string // at the server
	spec tool.Spec
}

// ToolPrefix begins the names of all tools of a server.
func ToolPrefix(server string) string { return "mcp__" + fold(server) + "__" }

var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

func fold(name string) string { return notInNames.ReplaceAllLiteralString(name, "_") }

// listTools reads the tools of a server, and notes those that are left out.
func listTools(ctx context.Context, server string, conn *connection) (all []listedTool, notes []string, err error) {
	if caps := conn.session.InitializeResult().Capabilities; caps == nil || caps.Tools == nil {
		return nil, nil, nil
	}
	var found []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for page := 0; ; page++ {
		got, err := conn.session.ListTools(ctx, params)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, nil, err
		}
		found = append(found, got.Tools...)
		if params.Cursor = got.NextCursor; params.Cursor == "" {
			break
		}
		if page >= maxPages || len(found) > maxTools {
			break
		}
	}
	all, notes = readTools(server, found)
	return all, notes, nil
}

// readTools makes tools of what a server lists.
func readTools(server string, found []*mcp.Tool) (all []listedTool, notes []string) {
	left := map[string][]string{} // names by the reason
	names := map[string]bool{}
	size := 0
	for _, t := range found {
		l, err := readTool(server, t)
		size += len(l.spec.Schema) + len(l.spec.Description)
		switch {
		case err != nil:
		case names[l.spec.Name]:
			err = errors.New("have the name of another one")
		case len(all) >= maxTools:
			err = fmt.Errorf("come after the first %d", maxTools)
		case size > maxSchemas:
			err = fmt.Errorf("come after %d MiB of schemas", maxSchemas>>20)
		}
		if err != nil {
			left[err.Error()] = append(left[err.Error()], term.Cut(term.Clean(t.Name), 60))
			continue
		}
		names[l.spec.Name] = true
		all = append(all, l)
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		notes = append(notes, leftOut(left[why], why))
	}
	return all, notes
}

// leftOut says in one line which tools are left out.
func leftOut(names []string, why string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		text += ", …"
	}
	return fmt.Sprintf("%d of its tools are left out, as they %s: %s", len(names), why, text)
}

func readTool(server string, t *mcp.Tool) (l listedTool, err error) {
	l = listedTool{name: t.Name, spec: tool.Spec{
		Name: ToolPrefix(server) + fold(t.Name), Description: clean(t.Description, maxDescription),
		Parallel: t.Annotations != nil && t.Annotations.ReadOnlyHint,
	}}
	if t.Name == "" || len(l.spec.Name) > maxName {
		return l, fmt.Errorf("have no name, or one that makes more than %d characters with the server's", maxName)
	}
	l.spec.Schema, err = readSchema(t.InputSchema)
	return l, err
}

// readSchema returns the schema of an input as models take it: an object, without
// alternatives at its root, whose properties are all put together.
func readSchema(given any) (json.RawMessage, error) {
	root, ok := given.(map[string]any)
	if !ok {
		return nil, errors.New("have no schema of an object")
	}
	if kind, ok := root["type"]; ok && kind != "object" {
		return nil, errors.New("have no schema of an object")
	}
	root["type"] = "object"
	flatten(root)
	raw, err := json.Marshal(root)
	switch {
	case err != nil:
		return nil, errors.New("have a schema that is not valid")
	case len(raw) > maxSchema:
		return nil, fmt.Errorf("have a schema of more than %d KiB", maxSchema>>10)
	}
	return raw, nil
}

// flatten puts the alternatives at the root of a schema together. What only some of them
// require is not required.
func flatten(root map[string]any) {
	properties, _ := root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := root[key].([]any)
		delete(root, key)
		for _, part := range parts {
			p, _ := part.(map[string]any)
			more, _ := p["properties"].(map[string]any)
			for name, schema := range more {
				if _, known := properties[name]; !known {
					properties[name] = schema
				}
			}
			if required, ok := p["required"].([]any); ok && key == "allOf" {
				known, _ := root["required"].([]any)
				root["required"] = append(known, required...)
			}
		}
	}
	root["properties"] = properties
}

// clean returns a text of a server without what acts on terminals, and cut to a size.
func clean(text string, size int) string {
	text = strings.TrimSpace(term.CleanLines(strings.ToValidUTF8(text, "")))
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}

// Names returns the names of the tools that connected servers have now.
func (c *Clients) Names() (names []string) {
	for _, s := range c.servers {
		s.mu.Lock()
		for _, t := range s.tools {
			names = append(names, t.spec.Name)
		}
		s.mu.Unlock()
	}
	return names
}

// Tools returns the tools of the names that are tools of servers; without names, all that
// connected servers have now. A tool that its server does not have now is offered too: it
// says so, or works, when it is called.
func (c *Clients) Tools(names []string) (all []tool.Tool) {
	if names == nil {
		names = c.Names()
	}
	for _, name := range names {
		if strings.HasPrefix(name, "mcp__") {
			all = append(all, c.tool(name))
		}
	}
	return all
}

// tool returns a tool by its name.
func (c *Clients) tool(name string) tool.Tool {
	t := &clientTool{spec: tool.Spec{Name: name, Description: "A tool of an MCP server that is not connected.", Schema: json.RawMessage(`{"type":"object"}`)}}
	for _, s := range c.servers {
		if strings.HasPrefix(name, ToolPrefix(s.config.Name)) {
			t.server = s
			if listed, ok := s.find(name); ok {
				t.spec = listed.spec
			}
		}
	}
	return t
}

func (s *server) find(name string) (listedTool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tools, func(t listedTool) bool { return t.spec.Name == name })
	if i < 0 {
		return listedTool{}, false
	}
	return s.tools[i], true
}

// clientTool is a tool of a server, for agents.
type clientTool struct {
	spec   tool.Spec
	server *server // nil if the session does not have it
}

func (t *clientTool) Spec() tool.Spec { return t.spec }

func (t *clientTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	if t.server == nil {
		return tool.Errorf("this session has no MCP server with the tool %s", t.spec.Name), nil
	}
	listed, ok := t.server.find(t.spec.Name)
	if !ok {
		_, _, err := t.server.connected(ctx)
		if listed, ok = t.server.find(t.spec.Name); err != nil && !ok {
			if ctx.Err() != nil {
				return tool.Result{}, context.Cause(ctx)
			}
			return tool.Errorf("%v", err), nil
		}
	}
	if !ok {
		return tool.Errorf("the MCP server %s has no tool %s any more", t.server.config.Name, t.spec.Name), nil
	}
	return t.server.call(ctx, listed.name, c.Input)
}

// CallTool calls a tool of a server by the names that the server and its configuration
// give. It waits for a server that starts, and starts one that was not. A failure of the
// tool is an error.
func (c *Clients) CallTool(ctx context.Context, server, name string, input json.RawMessage) (text string, err error) {
	s, err := c.find(server)
	if err != nil {
		return "", err
	}
	r, err := s.call(ctx, name, input)
	switch {
	case err != nil:
		return "", err
	case r.IsError:
		return "", errors.New(r.Text)
	}
	return r.Text, nil
}
