package swarm

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/executor"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/session"
)

// Options configure a session. The zero value is a new session in the working directory
// with the model that the environment names.
type Options struct {
	// Dir is the directory that the agents work in; "" is the working directory.
	Dir string
	// Session is the id of a session to open again; "" makes a new one.
	Session string
	// NewSession is the id that a new session gets; "" picks one.
	NewSession string
	// StateDir is the directory of all sessions; "" is SWARM_HOME, or ~/.swarm.
	StateDir string
	// Home is the user's home directory; "" is that of the system.
	Home string

	// Model names the lead's model: an alias (sonnet), an id, "openai:ID" or "script:FILE";
	// "" is SWARM_MODEL, or the default of the provider.
	Model string
	// Models, if set, is the model for every name instead of the providers.
	Models func(name string) (m model.Model, id string, err error)
	// Agents is the value of --agents: JSON text or the path of a JSON file.
	Agents string
	// Settings is the value of --settings: JSON text or the path of a JSON file. It takes
	// precedence over the settings of the project and the user.
	Settings string
	// MCP are the values of --mcp-config: JSON texts or paths of JSON files with MCP servers.
	// With StrictMCP the session has no other servers.
	MCP       []string
	StrictMCP bool
	// AddDirs are further directories with agents in .claude/agents.
	AddDirs []string
	// PluginDirs are plugins that no settings enable.
	PluginDirs []string
	// System replaces the lead's system prompt.
	System string

	// Mode is the lead's permission mode; "" is default. No agent gets more.
	Mode string
	// Allow and Deny are permission rules, such as "Bash(git diff:*)".
	Allow, Deny []string
	// MaxTurns limits the model requests of one run of the lead; 0 is no limit.
	MaxTurns int
	// Budget limits what all agents of the session use together, over all its runs. A
	// request that does not fit is not sent. An existing session has the budget of its
	// record.
	Budget Limits
	// Attended reports that a person is present to answer Questions. Otherwise a question
	// is refused at once, unless AskTimeout is set.
	Attended bool
	// AskTimeout is how long a question waits for its answer before it is refused; 0 is for
	// ever if the session is attended, negative for ever.
	AskTimeout time.Duration
	// Window is the size of the models' context in tokens; 0 is SWARM_CONTEXT_WINDOW, or
	// the value of the model table (docs/models.md).
	Window int
	// Policy decides how children are started.
	Policy spawn.Policy

	// Listen is the address of a TCP listener of the message bus, such as "127.0.0.1:4222",
	// for the users of Session.Bus; "" opens none. ListenWebSocket is the same for
	// WebSocket. An existing session listens where it did before; Off ends that.
	Listen, ListenWebSocket string
	// ListenCert and ListenKey are the PEM files of a certificate, with its chain, and of
	// its key: both listeners then use TLS. An existing session uses its last ones;
	// ListenCert Off ends that.
	ListenCert, ListenKey string
	// NATS is an external server that carries the mail and the task lists.
	NATS NATS
	// Inbound decides about messages of other sessions; "" is hold if one of the two
	// sessions bypasses permissions and the other does not, and accept otherwise. The
	// setting crossSessionInbound can make it stricter. An existing session has the value
	// of its record.
	Inbound Inbound
	// InboundExpiry is how long a held message waits for the user before it is refused; 0
	// is 5 minutes, negative for ever. An existing session has the value of its record.
	InboundExpiry time.Duration
	// Getenv reads the environment; nil is os.Getenv.
	Getenv func(string) string
	// Logger receives internal problems; nil discards them.
	Logger *slog.Logger

	// TeammateMode is where teammates run: in-process, tmux (a pane each), process, or
	// auto, which is tmux inside of tmux. "" is SWARM_TEAMMATE_MODE, or the setting
	// teammateMode, or in-process. Policy.Where takes precedence.
	TeammateMode string
	// TeammateCommand is the beginning of the command line that runs a teammate in a
	// process of its own, if Policy.Where asks for one; nil is this program and "teammate".
	TeammateCommand []string

	executor  executor.Executor // of teammates; nil is the one of Policy.Where. For tests
	firstSign time.Duration     // how long a teammate's process may take to report; 0 is a minute
	silence   time.Duration     // after which such a process counts as lost; 0 is 15 s

	compactWindow int // CLAUDE_CODE_AUTO_COMPACT_WINDOW; 0 is none

	disk  journal.FS // of the journal; nil is the operating system's. For tests
	notes []string   // what a person is told at the start
}

// complete sets the options that are not given.
func (o *Options) complete() error {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if o.Dir = dir; !isDir(dir) {
		return &OptionError{Err: fmt.Errorf("%s is not a directory; name one with --dir", dir)}
	}
	if o.AddDirs, err = absolute(o.AddDirs, "--add-dir"); err != nil {
		return err
	}
	if o.PluginDirs, err = absolute(o.PluginDirs, "--plugin-dir"); err != nil {
		return err
	}
	if file := strings.TrimSpace(o.Settings); file != "" && !strings.HasPrefix(file, "{") {
		if o.Settings, err = filepath.Abs(file); err != nil {
			return fmt.Errorf("find the file of --settings: %w", err)
		}
	}
	o.MCP = slices.Clone(o.MCP)
	for i, file := range o.MCP {
		if file = strings.TrimSpace(file); file == "" || strings.HasPrefix(file, "{") {
			continue
		}
		if o.MCP[i], err = filepath.Abs(file); err != nil {
			return fmt.Errorf("find the file of --mcp-config: %w", err)
		}
	}
	if o.Home == "" {
		// Without a home directory the user has no agents and settings.
		if o.Home, err = os.UserHomeDir(); err != nil && o.StateDir == "" && o.Getenv("SWARM_HOME") == "" {
			return fmt.Errorf("there is no home directory to keep sessions in; set HOME or SWARM_HOME: %w", err)
		}
	}
	if o.StateDir == "" {
		o.StateDir = stateDir(o.Getenv, o.Home)
	}
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return fmt.Errorf("find the state directory: %w", err)
	}
	if err := o.Inbound.Validate(); err != nil {
		return &OptionError{Err: fmt.Errorf("--inbound %w", err)}
	}
	if err := o.NATS.Validate(); err != nil {
		return &OptionError{Err: err}
	}
	if o.NATS.Creds != "" {
		if o.NATS.Creds, err = filepath.Abs(o.NATS.Creds); err != nil {
			return fmt.Errorf("find the credentials of the NATS server: %w", err)
		}
	}
	listen := o.listen()
	if err := listen.Validate(); err != nil {
		return err
	}
	o.listenAt(listen)
	return o.completePolicy()
}

// absolute makes the directories of an option absolute; each must exist.
func absolute(dirs []string, option string) ([]string, error) {
	all := make([]string, len(dirs))
	for i, d := range dirs {
		abs, err := filepath.Abs(d)
		if err != nil || !isDir(abs) {
			return nil, &OptionError{Err: fmt.Errorf("%s %s is not a directory", option, d)}
		}
		all[i] = abs
	}
	return all, nil
}

// NoModelError reports that no model is configured.
type NoModelError = model.NoModelError

// OptionError reports an invalid value of an option. It is the caller's mistake: nothing
// was started.
type OptionError = session.OptionError

// StateDir returns the default of Options.StateDir: SWARM_HOME, or .swarm in the home
// directory. A nil getenv is os.Getenv.
func StateDir(getenv func(string) string) (string, error) {
	if getenv == nil {
		getenv = os.Getenv
	}
	if dir := getenv("SWARM_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("find the home directory; set HOME or SWARM_HOME: %w", err)
		}
	}
	return stateDir(getenv, home), nil
}

func stateDir(getenv func(string) string, home string) string {
	if dir := getenv("SWARM_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(home, ".swarm")
}

// completePolicy sets the policy for children from the environment.
func (o *Options) completePolicy() error {
	o.Policy.Attended = o.Policy.Attended || o.Attended
	o.Policy.AskTimeout = cmp.Or(o.Policy.AskTimeout, o.AskTimeout)
	c := o.config()
	if o.Session == "" {
		c.ReadMode()
	}
	err := c.ReadEnvironment()
	o.take(c)
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Sources returns the places of the definitions that a session with these options reads.
func (o Options) Sources() (defs.Options, error) {
	if err := o.complete(); err != nil {
		return defs.Options{}, err
	}
	return o.config().Sources(), nil
}

// config returns the options that concern agents.
func (o Options) config() node.Config {
	return node.Config{
		Dir: o.Dir, StateDir: o.StateDir, Home: o.Home, AddDirs: o.AddDirs, PluginDirs: o.PluginDirs,
		Getenv: o.Getenv, Logger: o.Logger, Model: o.Model, Mode: o.Mode, MaxTurns: o.MaxTurns, System: o.System, Agents: o.Agents, Settings: o.Settings,
		Allow: o.Allow, Deny: o.Deny, Budget: o.Budget, Policy: o.Policy, Window: o.Window, CompactWindow: o.compactWindow,
		FindModel: o.Models, MCP: o.MCP, StrictMCP: o.StrictMCP,
	}
}

// take is the reverse of config.
func (o *Options) take(c node.Config) {
	o.Dir, o.AddDirs, o.PluginDirs = c.Dir, c.AddDirs, c.PluginDirs
	o.Model, o.Mode, o.MaxTurns, o.System, o.Agents, o.Settings = c.Model, c.Mode, c.MaxTurns, c.System, c.Agents, c.Settings
	o.MCP, o.StrictMCP = c.MCP, c.StrictMCP
	o.Allow, o.Deny, o.Budget, o.Policy, o.Window, o.compactWindow = c.Allow, c.Deny, c.Budget, c.Policy, c.Window, c.CompactWindow
}

// listen returns the addresses of the session's bus.
func (o *Options) listen() bus.Listen {
	return bus.Listen{TCP: o.Listen, WebSocket: o.ListenWebSocket, Cert: o.ListenCert, Key: o.ListenKey}
}

// listenAt is the reverse of listen.
func (o *Options) listenAt(l bus.Listen) {
	o.Listen, o.ListenWebSocket, o.ListenCert, o.ListenKey = l.TCP, l.WebSocket, l.Cert, l.Key
}
