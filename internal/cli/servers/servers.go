package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/mcpconfig"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/tool/builtin"
)

// AddTo adds the commands to a command.
func AddTo(c *cobra.Command, console *cli.Console) {
	s := &commands{Console: console}
	c.PersistentFlags().StringVar(&s.dir, "dir", "", "the `directory` that is meant (default: the working directory)")
	for _, sub := range []*cobra.Command{newList(s), newGet(s), newAdd(s), newAddJSON(s), newRemove(s)} {
		cli.CompleteFixed(sub)
		c.AddCommand(sub)
	}
}

// commands share where servers are configured.
type commands struct {
	*cli.Console
	dir string
}

func (s *commands) config() (node.Config, error) {
	state, abs, err := s.Sessions().Directories(s.dir)
	if err != nil {
		return node.Config{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return node.Config{}, fmt.Errorf("find the home directory; set HOME: %w", err)
	}
	return node.Config{Dir: abs, StateDir: state, Home: home, Getenv: s.Getenv}, nil
}

// read returns the servers of a session here, after it has named what is wrong with them.
func (s *commands) read() ([]mcpclient.Server, node.Config, error) {
	config, err := s.config()
	if err != nil {
		return nil, config, err
	}
	all, notes := mcpconfig.Read(config.ServerOptions())
	for _, note := range notes {
		s.Notef("%s", term.Clean(note))
	}
	return all, config, nil
}

func newList(s *commands) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers that a session here starts",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := errors.Join(cli.CheckFormat(format), cli.NoMoreArgs(args, 0, "swarm mcp list")); err != nil {
				return err
			}
			all, _, err := s.read()
			if err != nil {
				return err
			}
			if format == "json" {
				return s.PrintJSON(rows(all))
			}
			return s.Print(listText(all))
		},
	}
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// row is a server in JSON, without its variables and headers, which may hold keys.
type row struct {
	Name   string `json:"name"`
	Scope  string `json:"scope"`
	Source string `json:"source"`
	Type   string `json:"type"`
	Where  string `json:"where"` // the command or the address
}

func rows(all []mcpclient.Server) []row {
	out := []row{}
	for _, s := range all {
		out = append(out, row{s.Name, s.Scope, s.Source, s.Type, s.Where()})
	}
	return out
}

func listText(all []mcpclient.Server) string {
	if len(all) == 0 {
		return "no MCP server is configured; add one with: swarm mcp add\n"
	}
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s  %s  %s\n  %s: %s\n", s.Name, s.Type, term.Clean(s.Where()), s.Scope, term.Clean(s.Source))
	}
	return b.String()
}

func newGet(s *commands) *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME",
		Short: "Start an MCP server, show what it offers and end it",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name a server: swarm mcp get NAME")
			}
			all, config, err := s.read()
			if err != nil {
				return err
			}
			for _, server := range all {
				if server.Name == args[0] {
					return s.get(c.Context(), server, config)
				}
			}
			return unknown(args[0])
		},
	}
}

func unknown(name string) error {
	return cli.Usagef("there is no MCP server %q here; see them with: swarm mcp list", term.Clean(name))
}

// getTimeout bounds what get waits for; the server has a limit of its own.
const getTimeout = 10 * time.Minute

// get starts a server and shows its tools.
func (s *commands) get(ctx context.Context, server mcpclient.Server, config node.Config) error {
	if err := s.Print(listText([]mcpclient.Server{server})); err != nil {
		return err
	}
	clients := mcpclient.New(ctx, mcpclient.Options{
		Servers: []mcpclient.Server{server}, Dir: config.Dir, Place: config.HookPlace(""), Getenv: s.Getenv, Version: cli.VersionText(),
		Warn: func(text string) { s.Notef("%s", text) },
	})
	defer clients.Close()
	clients.Start()
	clients.Await(ctx, getTimeout)
	if st := clients.Status()[0]; st.State != "connected" {
		return cmp.Or(context.Cause(ctx), fmt.Errorf("the MCP server %s does not work", server.Name))
	}
	var b strings.Builder
	for _, t := range clients.Tools(nil) {
		first, _, _ := strings.Cut(t.Spec().Description, "\n")
		fmt.Fprintf(&b, "  %s  %s\n", t.Spec().Name, term.Cut(first, 100))
	}
	return s.Print(b.String())
}

// checkPerson refuses a process that an agent has started.
func checkPerson() error {
	marks, err := builtin.MarksOf(os.Getpid())
	if err == nil && len(marks) > 0 {
		err = errors.New("only a person configures MCP servers, and this process was started by an agent")
	}
	return err
}

func newAdd(s *commands) *cobra.Command {
	var scope, transport string
	var env, headers []string
	c := &cobra.Command{
		Use:   "add NAME COMMAND [ARG...] | add -t http NAME URL",
		Short: "Add an MCP server",
		Long: `Add writes a server into your own file, for this directory (local) or for all
(user), or into .mcp.json (project), which the sessions of others read too, once
they have trusted it. The next session starts it.`,
		Example: `  swarm mcp add files -- mcp-server-filesystem .
  swarm mcp add --scope user --env TOKEN=x tracker -- npx tracker-mcp
  swarm mcp add -t http -H "X-Key: x" docs https://docs.example/mcp`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("give a name and a command or a URL: swarm mcp add NAME -- COMMAND")
			}
			server := mcpclient.Server{Name: args[0], Type: transport}
			if transport == "stdio" {
				server.Command, server.Args = args[1], args[2:]
			} else if server.URL = args[1]; len(args) > 2 {
				return cli.Usagef("a URL is all that follows the name: swarm mcp add --transport %s NAME URL", transport)
			}
			var err, more error
			server.Env, err = pairs(env, "=", "--env NAME=VALUE")
			server.Headers, more = pairs(headers, ":", `--header "NAME: VALUE"`)
			if err = errors.Join(err, more); err != nil {
				return err
			}
			return s.add(scope, server)
		},
	}
	c.Flags().StringVarP(&transport, "transport", "t", "stdio", "how the server is reached: `stdio`, http or sse")
	c.Flags().StringArrayVarP(&env, "env", "e", nil, "a variable of the server, as `NAME=VALUE`")
	c.Flags().StringArrayVarP(&headers, "header", "H", nil, "a header of requests to the server, as `\"NAME: VALUE\"`")
	addScope(c, &scope)
	return c
}

func addScope(c *cobra.Command, scope *string) {
	c.Flags().StringVarP(scope, "scope", "s", mcpconfig.Local, "where it is written: `local`, project or user")
}

// pairs splits texts at the first separator.
func pairs(texts []string, separator, use string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, separator)
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, cli.Usagef("%q is not of the form %s", term.Clean(text), use)
		}
		all[name] = strings.TrimSpace(value)
	}
	return all, nil
}

func newAddJSON(s *commands) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use:     "add-json NAME JSON",
		Short:   "Add an MCP server that is described as in .mcp.json",
		Example: `  swarm mcp add-json docs '{"type": "http", "url": "https://docs.example/mcp"}'`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("give a name and an object: swarm mcp add-json NAME JSON")
			}
			raw, err := json.Marshal(map[string]json.RawMessage{args[0]: json.RawMessage(args[1])})
			if err != nil {
				return cli.Usagef("%s is not JSON: %v", term.Clean(args[1]), err)
			}
			found, problems := mcpclient.Parse(raw, "swarm mcp add-json", nil)
			if len(found) == 0 {
				return errors.Join(problems...)
			}
			return s.add(scope, found[0])
		},
	}
	addScope(c, &scope)
	return c
}

// add writes a server into the file of a scope.
func (s *commands) add(scope string, server mcpclient.Server) error {
	config, err := s.config()
	if err = errors.Join(err, checkPerson()); err != nil {
		return err
	}
	path, err := mcpconfig.Add(config.ServerOptions(), scope, server)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	s.Notef("%s is in %s", server.Name, path)
	if scope == mcpconfig.Project {
		s.Notef("sessions start it once the directory is trusted as it is now: swarm trust")
	}
	return nil
}

func newRemove(s *commands) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an MCP server",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name a server: swarm mcp remove NAME")
			}
			config, err := s.config()
			if err = errors.Join(err, checkPerson()); err != nil {
				return err
			}
			scopes := []string{scope}
			if !c.Flags().Changed("scope") {
				scopes = []string{mcpconfig.Local, mcpconfig.Project, mcpconfig.User}
			}
			for _, scope := range scopes {
				path, err := mcpconfig.Remove(config.ServerOptions(), scope, args[0])
				if errors.As(err, new(*mcpconfig.NotFoundError)) {
					continue
				}
				if err == nil {
					s.Notef("%s is no longer in %s", args[0], path)
				}
				return err
			}
			return unknown(args[0])
		},
	}
	c.Flags().StringVarP(&scope, "scope", "s", "", "where it is written: `local`, project or user (default: the first of them that has it)")
	return c
}
