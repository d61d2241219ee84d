package builtin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/confine"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool"
)

const (
	defaultTimeout = 120 * time.Second
	longestTimeout = 600 * time.Second
	maxCommand     = 100 << 10 // bytes; the kernel takes 128 KB in one argument
)

const bashSchema = `{"type":"object","additionalProperties":false,"required":["command"],"properties":{` +
	`"command":{"type":"string","description":"The command line"},` +
	`"timeout":{"type":"integer","minimum":1,"description":"Milliseconds the command may take; 120000 if left out, 600000 at most"},` +
	`"description":{"type":"string","description":"What the command does, in a few words, for the person who watches"},` +
	`"run_in_background":{"type":"boolean","description":"Return at once and let the command run on; its output goes to a file"}}}`

const bashDescription = `Runs a command with bash and shows its output, standard error included.
The working directory carries over to the next call while it stays inside the project; variables and functions do not.
There is no terminal and no input. Everything a command starts ends with it: for servers and long work set run_in_background, then Read the output file it names.
Long output is shown by its start and end and kept in a file. To read, find or change files use Read, Grep, Glob and Edit.`

// What a set adds whose commands are held to the profile edit.
const (
	sandboxDescription = `The kernel holds commands to changing the working directories and a temporary one (TMPDIR), and to the hosts that the user has listed, ` +
		`through the proxy that HTTPS_PROXY names. A result says what was denied and what would allow it.`
	unsandboxedSchema = `{"type":"boolean","description":"Have a person asked to run the command without the sandbox; only for what the sandbox has denied"}`
)

// ErrClosed is the cause for commands that end, or are refused, after Close.
var ErrClosed = errors.New("the tools of this agent are closed")

// bashTool runs one command at a time, and any number in the background.
type bashTool struct {
	env        Env
	confine    *confine.Commands
	base       []string // environment of every command, without its mark
	real       string   // Env.Dir with its links followed
	linger     time.Duration
	unhook     func() bool
	closing    chan struct{}
	closeOnce  sync.Once
	background sync.WaitGroup // a goroutine for each background command

	slot chan struct{} // holds one token; the call that has it may run
	cwd  string        // guarded by turn

	mu             sync.Mutex
	closed         bool    // guarded by mu
	tasks          []*task // guarded by mu
	foregroundMove *move   // of the foreground command; nil when none runs; guarded by mu
}

type bashInput struct {
	Command     string `json:"command"`
	Timeout     int64  `json:"timeout"`
	Background  bool   `json:"run_in_background"`
	Description string `json:"description"` // for those who watch; the tool does not use it
}

func newBash(e Env) *bashTool {
	b := &bashTool{
		env: e, confine: confine.New(confinement(e)), real: e.Dir, cwd: e.Dir, linger: childGrace,
		closing: make(chan struct{}), slot: make(chan struct{}, 1), unhook: func() bool { return true },
	}
	b.slot <- struct{}{}
	if real, err := filepath.EvalSymlinks(e.Dir); err == nil {
		b.real = real
	}
	b.base = append(childenv.Of(e.Getenv, e.Pass),
		Marks(e.Session, e.Tag)...)
	if e.Scope != nil {
		b.unhook = context.AfterFunc(e.Scope, b.cancelAll)
	}
	return b
}

// confinement returns what the profiles of a set's commands are made of.
func confinement(e Env) confine.Options {
	p := sandbox.Place{
		Dirs: append([]string{e.Dir}, e.AddDirs...), Home: e.Home, Hidden: e.Hidden, Shown: slices.Clone(e.Shown), Getenv: e.Getenv,
		Reads: e.Reads, Writes: e.Writes, Fixed: e.Fixed,
		Limits: sandbox.Limits{CPU: e.MaxCPU, FileSize: e.MaxFileSize, Memory: e.MaxMemory, OpenFiles: e.MaxOpenFiles},
		Totals: sandbox.Totals{Processes: e.MaxProcesses, Memory: e.MaxTotalMemory},
	}
	// Commands read their settings in the home that their environment names.
	if e.Getenv != nil && e.Getenv("HOME") != "" && e.Getenv("HOME") != e.Home {
		p.Home, p.Hidden = e.Getenv("HOME"), append(slices.Clone(e.Hidden), sandbox.Secrets(e.Home)...)
	}
	if e.OutputDir != "" {
		p.Shown = append(p.Shown, e.OutputDir)
	}
	o := confine.Options{Place: p, Denied: e.Denied, Bounds: e.Bounds, Outlet: e.Network != nil, Sockets: e.Sockets}
	if e.Sandboxed {
		o.Remedy = "A change of sandbox in the user's settings lets commands do more."
		if e.Unsandboxed {
			o.Remedy = "A call with dangerouslyDisableSandbox has a person asked whether the command may do more; sandbox in the user's settings lets all do so."
		}
	}
	return o
}

// Mark identifies the agent and the session of a process.
type Mark struct {
	Session string
	Agent   string // "" if only the badge remains
}

// Marks returns the environment variables by which Reap finds the processes of a session
// after its runtime has died.
func Marks(session, agent string) []string {
	return []string{"SWARM_AGENT=" + agent, "SWARM_SESSION=" + session, "SWARM_RUNTIME=" + runtimeMark()}
}

func (b *bashTool) Spec() tool.Spec {
	s := tool.Spec{Name: "Bash", Description: bashDescription, Schema: json.RawMessage(bashSchema)}
	if b.env.Sandboxed {
		s.Description += "\n" + sandboxDescription
	}
	if b.env.Sandboxed && b.env.Unsandboxed {
		s.Schema = json.RawMessage(strings.TrimSuffix(bashSchema, "}}") + `,"dangerouslyDisableSandbox":` + unsandboxedSchema + "}}")
	}
	return s
}

func (b *bashTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in bashInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if err := checkCommand(in.Command); err != nil {
		return failure(err), nil
	}
	select {
	case <-b.slot:
	case <-ctx.Done():
		return tool.Errorf("The command was not started: %v", context.Cause(ctx)), nil
	}
	defer func() { b.slot <- struct{}{} }()
	if err := b.refusal(ctx); err != nil {
		return tool.Errorf("The command was not started: %v", err), nil
	}
	profile, err := b.confine.Profile(sandbox.Name(c.Profile))
	if err != nil {
		return tool.Errorf("The command was not started: %v", err), nil
	}
	if in.Background {
		return b.launch(in.Command, profile), nil
	}
	return b.foreground(ctx, in, profile), nil
}

func checkCommand(command string) error {
	switch {
	case strings.TrimSpace(command) == "":
		return errors.New("the command is empty")
	case strings.ContainsRune(command, 0):
		return errors.New("the command holds a NUL character, which no program can be given")
	case len(command) > maxCommand:
		return fmt.Errorf("the command has %s, more than fits (%s); put it into a file with Write and run that", size(int64(len(command))), size(maxCommand))
	}
	return nil
}

func (b *bashTool) refusal(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	return context.Cause(ctx)
}

// timeout bounds the timeout that a call requests.
func (b *bashTool) timeout(ms int64) time.Duration {
	longest := cmp.Or(b.env.MaxBashTimeout, longestTimeout)
	if ms <= 0 {
		return min(cmp.Or(b.env.BashTimeout, defaultTimeout), longest)
	}
	return min(time.Duration(min(ms, longest.Milliseconds()))*time.Millisecond, longest)
}

// command returns a shell for a line; the shell writes its working directory to report
// unless that is "".
func (b *bashTool) command(line, mark, report string) *exec.Cmd {
	// The line is evaluated rather than given to the shell, so that the
	// shell is there at its end to report; "set --" hides our arguments.
	const script = `_swarm_report=$1 _swarm_line=$2; set --; ` +
		`[ -z "$_swarm_report" ] || trap 'pwd -P >|"$_swarm_report"' EXIT; eval "$_swarm_line"`
	shell := findShell()
	args := slices.Concat(shell[1:], []string{"-c", script, "bash", report, line})
	cmd := exec.Command(shell[0], args...)
	cmd.Dir = b.cwd
	cmd.Env = slices.Concat(b.base, childenv.From(b.env.Variables), []string{"SWARM_CALL=" + mark})
	return cmd
}

// findShell prefers bash and disables its start-up files.
func findShell() []string {
	for _, name := range []string{"bash", "/bin/bash", "/usr/local/bin/bash"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path, "--noprofile", "--norc"}
		}
	}
	return []string{"/bin/sh"}
}

// foreground runs a command to its end.
func (b *bashTool) foreground(ctx context.Context, in bashInput, profile sandbox.Profile) tool.Result {
	note := b.checkDir()
	mark := rand.Text()
	report, err := b.reportFile()
	if err != nil {
		return failure(err)
	}
	out := newCapture(b.env.OutputDir, "bash-"+mark+".txt", maxOutput)
	m := b.movable(in.Command, out)
	p, err := startProcess(b.command(in.Command, mark, report), profile, mark, b.env.Session, out, b.serve)
	if err != nil {
		b.resolveMove(m, false)
		return b.notStarted(errors.Join(err, os.Remove(report)))
	}
	r := run{command: in.Command, out: out, timeout: b.timeout(in.Timeout), linger: b.linger}
	if r.await(ctx, p, b.closing, m.asked); r.moved {
		return b.moveToBackground(m, p, out, report, note)
	}
	b.resolveMove(m, false)
	out.close()
	if r.code != 0 {
		r.notes = append(r.notes, profile.Denial(out.text(), b.cwd))
	}
	from := b.cwd
	r.notes = append(r.notes, p.refusals())
	r.notes = append(r.notes, note, b.updateDir(report))
	if b.env.OnDir != nil && b.cwd != from {
		b.env.OnDir(ctx, from, b.cwd)
	}
	return r.result()
}

func (b *bashTool) notStarted(err error) tool.Result {
	if _, statErr := os.Stat(b.cwd); statErr != nil {
		return tool.Errorf("The command was not started: the working directory %s is not there; make it first with Write", b.cwd)
	}
	return tool.Errorf("The command was not started: %v", err)
}

// reportFile creates the empty file to which a shell writes its working directory, where
// it may under each profile.
func (b *bashTool) reportFile() (string, error) {
	dir, err := b.confine.Temp()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "cwd-*")
	if err != nil {
		return "", fmt.Errorf("prepare the command: %w", err)
	}
	return f.Name(), f.Close()
}

// checkDir returns to Env.Dir if the working directory of the shell is gone.
func (b *bashTool) checkDir() (note string) {
	if info, err := os.Stat(b.cwd); err == nil && info.IsDir() || b.cwd == b.env.Dir {
		return ""
	}
	gone := b.cwd
	b.cwd = b.env.Dir
	return fmt.Sprintf("The folder %s is gone; the command ran in %s.", gone, b.cwd)
}

// updateDir makes the last working directory of the shell that of the next one.
func (b *bashTool) updateDir(report string) (note string) {
	content, err := readSmall(report, 64<<10)
	if removeErr := os.Remove(report); err != nil || removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
		return fmt.Sprintf("The folder of the shell is not known: %v", errors.Join(err, removeErr))
	}
	dir := strings.TrimSuffix(string(content), "\n")
	if dir == "" {
		return "" // the shell was killed or replaced; the directory does not change
	}
	rel, inside := within(b.real, dir)
	if !inside {
		b.cwd = b.env.Dir
		return fmt.Sprintf("The shell had left the project for %s; the next command starts in %s.", dir, b.cwd)
	}
	b.cwd = filepath.Join(b.env.Dir, rel)
	return ""
}
