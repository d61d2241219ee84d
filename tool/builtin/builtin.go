// Package builtin holds the tools of every agent: Read, Write, Edit, Glob, Grep and
// Bash. New makes one set for one agent; the set remembers which files the agent has
// read and the working directory of its shell.
//
//	tools := tool.NewSet(builtin.New(builtin.Env{
//		Dir:       "/srv/project",
//		OutputDir: output,
//		Getenv:    os.Getenv,
//		Tag:       "bob",
//		Session:   session,
//	})...)
//
// Laws:
//
//   - No lost update. Write and Edit replace a file as a whole, under a lock
//     that the agents of all processes on this machine use, and only if the
//     content is still what the new text was made from
//     (TestNoUpdateIsLostAmongTenEditors, TestAChangeByAProgramWithoutLocksIsNotLost).
//   - Nothing is overwritten unseen. An agent changes an existing file only after
//     it has read it; Write requires that it has read all of the present
//     content, Edit an exact match that is unique
//     (TestWriteNeedsToHaveSeenAnExistingFile, TestEditRefusals).
//   - A file is whole at every moment: new content is written beside it, made
//     durable and renamed into place. Links are followed, the mode is kept
//     (TestReadersSeeTheOldOrTheNewContentAndNothingElse, TestLinksAreFollowed).
//   - No file blocks a tool. Devices, pipes, sockets, /proc and /dev are refused
//     before and after opening (TestNoFileHangsATool).
//   - The kernel holds each command to the profile of internal/sandbox that the call names:
//     inspect, edit or open. None shows credentials or what Env.Hidden names
//     (TestCommandsSeeNothingHidden), or what Env.Denied reports
//     (TestRulesHoldForCommands); inspect changes nothing (TestReadingChangesNothing),
//     edit nothing outside of the working directories (TestEditingChangesNothingElse), and
//     open lets programs work as they are used to (TestProgramsWorkWhenAllowed). What was
//     denied is reported with the result.
//   - A foreground command leaves no process behind. When Bash returns, every
//     process of the call is dead or has been sent SIGKILL, whether the
//     command ended, timed out or was stopped; a stop takes less than a second
//     (TestAProcessThatShedsEverythingEnds, TestForegroundLeavesNothingBehind,
//     TestAStopLeavesNothingBehind, TestATimeoutEndsWhatIgnoresSIGTERM).
//   - The next runtime ends what a killed one left: Reap recognises processes whose
//     runtime is gone by their environment or by the badge that each inherits
//     (TestReapEndsWhatAKilledRuntimeLeft). MarksOf finds out in the same way which
//     command a process belongs to.
//   - A background command runs until it ends, until Stop, Close or the end
//     of Env.Scope, and its output is in a file from the first byte
//     (TestABackgroundCommandRunsOn, TestCloseAndTheEndOfTheScopeEndEverything).
//   - A command gets an environment made from an allow list, no terminal and
//     an empty standard input (TestCommandsSeeAnAllowedEnvironmentOnly,
//     TestNothingWaitsForInputOrATerminal).
//   - Output is bounded: what is shown, what is kept, what a command may print
//     (TestLongOutputIsCutInTheMiddleAndKept, TestAFloodIsEnded).
//
// The tools of one set may be called at the same time, though calls of Bash
// run one after another. Close may be called twice and concurrently.
//
// Not promised: what the machine cannot enforce (see internal/sandbox). Where the
// kernel keeps no scope of signals, processes are found by the marks that they inherit,
// an environment and a descriptor: one that has shed both and left its session is not
// ended; on systems without /proc none that left its session is. The process does not
// become a subreaper for its commands: collecting the orphans of others would race with
// every other user of os/exec in the program, and scopes find the same processes
// without it.
package builtin

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/actorswarm/swarm/tool"
)

// Env configures the tools of one agent. Dir is required; the zero value of every other
// field works.
type Env struct {
	// Dir is the absolute working directory. Relative paths of all tools are
	// resolved against it; Bash starts there.
	Dir string
	// OutputDir receives long and background output. It is made with mode
	// 0700, files with 0600. Empty: long output is cut and background
	// commands are refused.
	OutputDir string
	// Tag and Session are written into the environment of every command as
	// SWARM_AGENT and SWARM_SESSION, so that what is left of a killed runtime
	// can be found; see Reap.
	Tag     string
	Session string
	// Getenv is the source of the allow-listed environment of commands, as
	// os.Getenv; nil is an empty environment with a PATH to fall back on.
	Getenv func(string) string
	// Pass names further variables to take from Getenv. Names of model and
	// cloud credentials are never passed, listed or not.
	Pass      []string
	Variables func() []string // further ones of each command, as NAME=VALUE; nil is none
	// Dirs are further readable folders, named in messages only.
	Dirs []string
	// Conceals reports files, by absolute path, that Grep and Glob must not show when they
	// search a folder; nil is none.
	Conceals func(path string) bool
	// Denied returns what reports, as the rules are now, the files that they keep commands
	// from reading or changing, by absolute path; for commands that run unasked also those
	// that they have a person asked about. nil, or a nil result, is nothing.
	Denied func() func(path string, unasked bool) (read, change bool)
	// Reads and Writes are what commands that run unasked may read, and change, besides the
	// working directories, Fixed is what no command may change.
	Reads, Writes, Fixed []string
	Bounds               func() (fixed, free []string, err error) // what no command may change, and what below that it may; nil is nothing
	// The limits of each process of a command: seconds of processor time, bytes of a file
	// and of memory, open files. Zero is no limit.
	MaxCPU, MaxFileSize, MaxMemory, MaxOpenFiles uint64
	// MaxProcesses and MaxTotalMemory, in bytes, are the limits of all processes of a command
	// together, which is ended beyond them. Zero is no limit.
	MaxProcesses   int
	MaxTotalMemory uint64
	// Sandboxed states that every command runs under the profile edit at most, unless it is
	// excluded or, with Unsandboxed, a call asks for more and a person allows it.
	Sandboxed, Unsandboxed bool
	// Network returns what commands under that profile reach; nil is nothing. Sockets lets
	// them use Unix sockets.
	Network func() Network
	Sockets bool
	// Home is the user's: what holds credentials there is hidden from commands, as Hidden
	// is, but for Shown. AddDirs are the working directories besides Dir.
	Home                   string
	AddDirs, Hidden, Shown []string
	// BashTimeout and MaxBashTimeout bound a foreground command: the time
	// used when a call names none, and the most a call can name. Zero is
	// 120 s and 600 s.
	BashTimeout, MaxBashTimeout time.Duration
	// OnDir, if not nil, is called when the working directory of the next command is
	// another one.
	OnDir func(ctx context.Context, from, to string)
	// Scope ends background commands when it ends; nil leaves that to Close.
	Scope context.Context
	// OnTask, if not nil, is called once, in a goroutine of the set, when a background
	// command has ended. It must not call Close or Stop.
	OnTask func(Task)
}

// New returns Read, Write, Edit, Glob, Grep and Bash for one agent. Close
// ends what they started.
func New(e Env) []tool.Tool {
	at := place{dir: e.Dir, dirs: e.Dirs, getenv: e.Getenv}
	seen := &views{}
	return []tool.Tool{
		&readTool{at: at, seen: seen},
		&writeTool{at: at, seen: seen},
		&editTool{at: at, seen: seen},
		&globTool{at: at, conceals: e.Conceals},
		&grepTool{at: at, conceals: e.Conceals, ripgrep: findRipgrep()},
		newBash(e),
	}
}

// Close ends the background commands of a set and returns when their processes have ended.
// It ignores tools that hold nothing, so that any tools may be given.
func Close(tools []tool.Tool) error {
	var errs []error
	for _, t := range tools {
		if c, ok := t.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
