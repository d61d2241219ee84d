package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/hooks"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run, some of which resume shares.
type runFlags struct {
	print, continued, skip bool
	agents, model, mode    string
	settings               string
	mcp                    []string
	strictMCP              bool
	addDirs, pluginDirs    []string
	trustDirs              []string
	allow, deny            []string
	maxTurns               int
	deadlines              cli.DeadlineFlags
	prompts                string
	askTimeout             time.Duration
	budget                 cli.BudgetFlags
	resume, sessionID      string
	dir, listen, webSocket string
	cert, key              string
	nats                   swarm.NATS
	inbound                string
	inboundExpiry          time.Duration
	input                  string
	show                   showFlags
	teammates              string
}

// showFlags configure the output of a run.
type showFlags struct {
	format           string
	verbose, forward bool
}

func (f *runFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.BoolVarP(&f.print, "print", "p", false, "do one prompt and exit (what run does anyway)")
	fs.BoolVarP(&f.continued, "continue", "c", false, "go on with the newest session of the directory")
	fs.StringVarP(&f.resume, "resume", "r", "", "go on with the session of this `id`")
	fs.StringVar(&f.sessionID, "session-id", "", "the `id` of the new session")
	fs.StringVar(&f.input, "input-format", "text", "what standard input holds: text, the only `format`")
	f.bus(fs)
	f.addCommon(c)
}

// bus adds the flags of the message bus.
func (f *runFlags) bus(fs *pflag.FlagSet) {
	fs.StringVar(&f.listen, "listen", "", "open the message bus on a TCP `address`, such as 127.0.0.1:4222, to those of: swarm bus user add; the session remembers it (off: not any more)")
	fs.StringVar(&f.webSocket, "listen-websocket", "", "open the message bus to WebSocket clients too, on an `address`")
	fs.StringVar(&f.cert, "listen-cert", "", "let --listen and --listen-websocket speak TLS with the certificate in this PEM `file` (off: not any more)")
	fs.StringVar(&f.key, "listen-key", "", "the PEM `file` with the key of --listen-cert")
	fs.StringVar(&f.nats.URL, "nats", "", "let the NATS server at this `URL` carry the messages, instead of one inside")
	fs.StringVar(&f.nats.Creds, "nats-creds", "", "credentials for --nats: a .creds `file`, or one with an nkey seed")
	fs.StringVar(&f.inbound, "inbound", "", "what becomes of messages of other sessions: accept, hold (you are asked) or refuse (`default` accept, or hold when one of the two bypasses permissions)")
	fs.Var((*expiry)(&f.inboundExpiry), "inbound-expiry", "how `long` a message of another session is held for you, such as 10m, or never (default 5m)")
	fs.IntVar(&f.nats.Replicas, "nats-replicas", 0, "the `number` of copies that a NATS cluster keeps (0: 1)")
}

// expiry is a flag for a time limit; negative is never.
type expiry time.Duration

func (e *expiry) Type() string { return "duration" }

func (e *expiry) String() string {
	switch d := time.Duration(*e); {
	case d == 0:
		return ""
	case d < 0:
		return "never"
	default:
		return d.String()
	}
}

func (e *expiry) Set(text string) error {
	if text == "never" {
		*e = -1
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("give a time such as 10m, or never")
	}
	*e = expiry(d)
	return nil
}

// mode is a flag for a permission mode, which may not be given twice with different values.
type mode string

func (m *mode) Type() string { return "string" }

func (m *mode) String() string { return string(*m) }

func (m *mode) Set(text string) error {
	if *m != "" && string(*m) != text {
		return fmt.Errorf("it is given as %s, too; give one mode", *m)
	}
	*m = mode(text)
	return nil
}

// addCommon adds the flags that also apply to an existing session.
func (f *runFlags) addCommon(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.model, "model", "", "the lead's `model`: sonnet, an id, openai:ID or script:FILE")
	fs.StringVar(&f.agents, "agents", "", "agent definitions: `JSON`, or the path of a JSON file")
	fs.StringVar(&f.settings, "settings", "", "settings that go before those of the project and yours: `JSON`, or the path of a JSON file")
	fs.StringArrayVar(&f.mcp, "mcp-config", nil, "MCP servers to start: `JSON`, or the path of a JSON file")
	fs.BoolVar(&f.strictMCP, "strict-mcp-config", false, "start no MCP servers but those of --mcp-config")
	fs.Var((*mode)(&f.mode), "permission-mode", "the `mode`: default, acceptEdits, plan, auto, dontAsk or bypassPermissions (see docs/permissions.md)")
	fs.BoolVar(&f.skip, "dangerously-skip-permissions", false, "allow everything (bypassPermissions)")
	for _, name := range []string{"allowedTools", "allowed-tools"} {
		fs.StringArrayVar(&f.allow, name, nil, "tools and `rules` that need no question, such as \"Read Bash(git log:*)\"")
	}
	for _, name := range []string{"disallowedTools", "disallowed-tools"} {
		fs.StringArrayVar(&f.deny, name, nil, "tools and `rules` that are refused")
	}
	fs.Lookup("allowed-tools").Hidden, fs.Lookup("disallowed-tools").Hidden = true, true
	fs.StringVar(&f.prompts, "permission-prompts", "", "what becomes of a call that you would be asked about: `none` (refused at once) or wait (for swarm approvals)")
	fs.DurationVar(&f.askTimeout, "ask-timeout", 0, "wait so `long` for swarm approvals, then refuse, such as 10m")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "at most this `number` of model requests of the lead (0: no limit)")
	fs.StringVar(&f.teammates, "teammate-mode", "", "where teammates run: in-process, tmux (a `pane` each), process or auto (tmux if swarm runs in it)")
	f.deadlines.Add(fs)
	f.budget.Add(fs)
	fs.StringVar(&f.dir, "dir", "", "the `directory` to work in (default: the working directory)")
	fs.StringArrayVar(&f.addDirs, "add-dir", nil, "a further `directory` that agents may work in, with its .claude/agents")
	fs.StringArrayVar(&f.trustDirs, "trust-dir", nil, "trust a `directory` with what its settings run now, as swarm trust does")
	fs.StringArrayVar(&f.pluginDirs, "plugin-dir", nil, "a `plugin` to load that no settings enable")
	f.show.add(c)
}

func (f *showFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.format, "output-format", "text", "the `format`: text, json or stream-json")
	c.Flags().BoolVar(&f.verbose, "verbose", false, "show tool inputs and results and what agents say")
	c.Flags().BoolVar(&f.forward, "forward-subagent-text", false, "stream-json: show what children say, not only what they do")
}

func (f *showFlags) check() error {
	switch f.format {
	case "text", "json", "stream-json":
		return nil
	}
	return cli.Usagef("unknown --output-format %q; use text, json or stream-json", f.format)
}

// check checks the flags before anything is started.
func (f *runFlags) check(c *cobra.Command) error {
	switch {
	case f.input != "text" && f.input != "":
		return cli.Usagef("unknown --input-format %q; the only one is text", f.input)
	case c.Flags().Changed("max-turns") && f.maxTurns < 1:
		return cli.Usagef("--max-turns is %d; give a whole number from 1 up", f.maxTurns)
	case f.continued && f.resume != "":
		return cli.Usagef("--continue and --resume exclude each other; give one of them")
	case f.sessionID != "" && (f.continued || f.resume != ""):
		return cli.Usagef("--session-id names a new session; leave it out to go on with one")
	case c.Flags().Changed("resume") && f.resume == "":
		return cli.Usagef("--resume needs a session's id; the sessions are listed by: swarm ps")
	case f.skip && f.mode != "" && f.mode != string(permission.Bypass):
		return cli.Usagef("--permission-mode %s and --dangerously-skip-permissions exclude each other; give one of them", f.mode)
	}
	if err := f.checkPrompts(c); err != nil {
		return err
	}
	return f.show.check()
}

func (f *runFlags) checkPrompts(c *cobra.Command) error {
	timed := c.Flags().Changed("ask-timeout")
	switch {
	case f.prompts != "" && f.prompts != "none" && f.prompts != "wait":
		return cli.Usagef("unknown --permission-prompts %q; use none or wait", f.prompts)
	case timed && f.askTimeout <= 0:
		return cli.Usagef("--ask-timeout is %v; give a time such as 10m, or --permission-prompts wait to wait as long as it takes", f.askTimeout)
	case timed && f.prompts == "none":
		return cli.Usagef("--ask-timeout waits and --permission-prompts none does not; give one of them")
	}
	if f.prompts == "wait" && !timed {
		f.askTimeout = -1 // as long as it takes
	}
	return nil
}

// options returns the options for the flags. It finds the session to continue.
func (f *runFlags) options(a *app) (swarm.Options, error) {
	o := swarm.Options{
		AddDirs: f.addDirs, PluginDirs: f.pluginDirs,
		MCP: f.mcp, StrictMCP: f.strictMCP,
		Dir: f.dir, NewSession: f.sessionID, Session: f.resume, Model: f.model, Agents: f.agents, Settings: f.settings, Mode: f.mode,
		Allow: cli.SplitRules(f.allow), Deny: cli.SplitRules(f.deny), MaxTurns: f.maxTurns, AskTimeout: f.askTimeout, Listen: f.listen, ListenWebSocket: f.webSocket, ListenCert: f.cert, ListenKey: f.key, NATS: f.nats, Inbound: swarm.Inbound(f.inbound), InboundExpiry: f.inboundExpiry, Getenv: a.Getenv,
	}
	o.TeammateMode = f.teammates
	o.Policy.Deadlines = f.deadlines.Deadlines
	o.Budget, o.Policy.ChildBudget = f.budget.All, f.budget.Child
	if file, ok := strings.CutPrefix(o.Model, "script:"); ok {
		// The session keeps the name and may be resumed from elsewhere.
		path, err := filepath.Abs(file)
		if err != nil {
			return o, err
		}
		o.Model = "script:" + path
	}
	if f.skip {
		o.Mode = "bypassPermissions"
	}
	if err := cli.CheckBypass(a.modeOf(o), a.Getenv); err != nil {
		return o, err
	}
	if err := hooks.TrustDirs(&a.Console, f.trustDirs); err != nil {
		return o, err
	}
	if !f.continued {
		return o, nil
	}
	info, err := a.Sessions().Find(f.dir, "")
	o.Session = info.ID
	return o, err
}

// modeOf returns the mode in which a session would start: that of the options or of the
// settings.
func (a *app) modeOf(o swarm.Options) string {
	state, dir, err := a.Sessions().Directories(o.Dir)
	if err != nil {
		return o.Mode
	}
	home, _ := os.UserHomeDir() // without one there are no settings of the user
	c := node.Config{Dir: dir, StateDir: state, Home: home, Getenv: a.Getenv, Mode: o.Mode, Settings: o.Settings}
	c.ReadMode()
	return c.Mode
}
