package swarm

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

// Options say what a session is. The zero value is a new session in the
// working directory with the model that the environment gives.
type Options struct {
	// Dir is the directory that the agents work in; "" is the working directory.
	Dir string
	// Session is the id of a session to open again; "" makes a new one.
	Session string
	// NewSession is the id that a new session gets; "" picks one.
	NewSession string
	// StateDir is where sessions are kept; "" is SWARM_HOME, or ~/.swarm.
	StateDir string
	// Home is the user's home directory; "" asks the system.
	Home string

	// Model names the lead's model: an alias (sonnet), an id, "openai:ID" or
	// "script:FILE"; "" is SWARM_MODEL, or what the provider offers.
	Model string
	// Models, if set, answers for every model name instead of the providers.
	Models func(name string) (m model.Model, id string, err error)
	// Agents is the value of --agents: JSON text or the path of a JSON file.
	Agents string
	// Settings is the value of --settings: JSON text or the path of a JSON file with
	// settings that go before those of the project and the user.
	Settings string
	// AddDirs are further directories whose .claude/agents is read.
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
	// Budget limits what all agents of the session use together, over all its
	// runs. A request that does not fit is not sent. A kept session keeps it.
	Budget Limits
	// Attended says that somebody is there to answer Questions. Elsewhere what
	// would be asked is refused at once, unless AskTimeout says how long it waits.
	Attended bool
	// AskTimeout is how long a question waits for its answer, after which it is
	// refused; 0 is for ever if the session is attended, negative for ever.
	AskTimeout time.Duration
	// Window is how many tokens the context of the models holds; 0 is
	// SWARM_CONTEXT_WINDOW, or what the table of models says (docs/models.md).
	Window int
	// Policy decides how children come to be.
	Policy spawn.Policy

	// Listen opens a TCP listener of the message bus, such as "127.0.0.1:4222",
	// for the users of Session.Bus; "" opens none. ListenWebSocket does the
	// same for WebSocket. A kept session listens where it did; Off ends that.
	Listen, ListenWebSocket string
	// ListenCert and ListenKey are the PEM files of a certificate, with those between
	// it and its authority, and of its key: both listeners speak TLS then. A kept
	// session goes on with them; ListenCert Off ends that.
	ListenCert, ListenKey string
	// NATS is a server of others that carries the mail and the task lists.
	NATS NATS
	// Inbound says what becomes of messages of other sessions; "" is hold where one of
	// the two bypasses permissions and the other does not, and accept otherwise. The
	// setting crossSessionInbound can make it stricter. A kept session keeps it.
	Inbound Inbound
	// InboundExpiry is how long a message that is held waits for the user, after which
	// it is refused; 0 is 5 minutes, negative for ever. A kept session keeps it.
	InboundExpiry time.Duration
	// Getenv reads the environment; nil is os.Getenv.
	Getenv func(string) string
	// Logger gets what is wrong inside; nil discards it.
	Logger *slog.Logger

	// TeammateMode says where teammates run: in-process, tmux (a pane each), process,
	// or auto, which is tmux inside of tmux. "" is what SWARM_TEAMMATE_MODE says, or
	// the setting teammateMode, or in-process. Policy.Where goes before it.
	TeammateMode string
	// TeammateCommand begins the command line that runs a teammate in a process of
	// its own, where Policy.Where says so; nil is this program and "teammate".
	TeammateCommand []string

	executor  executor.Executor // of teammates; nil is what Policy.Where says. For tests
	firstSign time.Duration     // how long a teammate's process may take to report; 0 is a minute
	silence   time.Duration     // after which such a process counts as lost; 0 is 15 s

	compactWindow int // CLAUDE_CODE_AUTO_COMPACT_WINDOW; 0 is none

	disk journal.FS // of the journal; nil is the operating system's. For tests
}

// complete fills in what was left out.
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
	if o.Home == "" {
		// Without a home there are no agents and settings of the user's.
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

// absolute makes the directories of an option absolute; each must be there.
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

// NoModelError reports that nothing says which model is to be used.
type NoModelError = model.NoModelError

// OptionError reports a value that an option cannot have. It is the caller's
// mistake: nothing was started.
type OptionError = session.OptionError

// StateDir returns where sessions are kept when Options.StateDir does not say:
// SWARM_HOME, or .swarm in the home directory. A nil getenv is os.Getenv.
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

// completePolicy takes what the environment says about children.
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

// Sources returns where the definitions of a session with these options come
// from. What the options leave open is settled as Open settles it.
func (o Options) Sources() (defs.Options, error) {
	if err := o.complete(); err != nil {
		return defs.Options{}, err
	}
	return o.config().Sources(), nil
}

// config returns what the options say of the agents.
func (o Options) config() node.Config {
	return node.Config{
		Dir: o.Dir, StateDir: o.StateDir, Home: o.Home, AddDirs: o.AddDirs, PluginDirs: o.PluginDirs,
		Getenv: o.Getenv, Logger: o.Logger, Model: o.Model, Mode: o.Mode, MaxTurns: o.MaxTurns, System: o.System, Agents: o.Agents, Settings: o.Settings,
		Allow: o.Allow, Deny: o.Deny, Budget: o.Budget, Policy: o.Policy, Window: o.Window, CompactWindow: o.compactWindow,
		FindModel: o.Models,
	}
}

// take is the other way round.
func (o *Options) take(c node.Config) {
	o.Dir, o.AddDirs, o.PluginDirs = c.Dir, c.AddDirs, c.PluginDirs
	o.Model, o.Mode, o.MaxTurns, o.System, o.Agents, o.Settings = c.Model, c.Mode, c.MaxTurns, c.System, c.Agents, c.Settings
	o.Allow, o.Deny, o.Budget, o.Policy, o.Window, o.compactWindow = c.Allow, c.Deny, c.Budget, c.Policy, c.Window, c.CompactWindow
}

// listen is where the session's bus listens.
func (o *Options) listen() bus.Listen {
	return bus.Listen{TCP: o.Listen, WebSocket: o.ListenWebSocket, Cert: o.ListenCert, Key: o.ListenKey}
}

// listenAt is the other way round.
func (o *Options) listenAt(l bus.Listen) {
	o.Listen, o.ListenWebSocket, o.ListenCert, o.ListenKey = l.TCP, l.WebSocket, l.Cert, l.Key
}
