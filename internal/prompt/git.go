package prompt

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/sandbox"
)

// gitTimeout bounds the time for git: the state of a huge repository is not worth a delay of
// the start.
const gitTimeout = time.Second

// gitLines is how many changed files are listed.
const gitLines = 40

// gitState describes the repository at dir, or returns "" if there is none or git fails. It
// runs nothing that the repository's configuration names, but for filters, which git has no
// switch for: like git itself they are held to reading.
func gitState(ctx context.Context, dir string) string {
	var status, log string
	var ok bool
	var both sync.WaitGroup
	both.Go(func() {
		status, ok = git(ctx, dir, "status", "--short", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty")
	})
	both.Go(func() { log, _ = git(ctx, dir, "log", "--oneline", "--no-decorate", "-n", "5") }) // an empty log is normal before the first commit
	both.Wait()
	if !ok {
		return ""
	}
	branch, files, _ := strings.Cut(status, "\n")
	lines := strings.Split(strings.TrimRight(files, "\n"), "\n")
	switch {
	case files == "":
		lines = []string{"(clean)"}
	case len(lines) > gitLines:
		lines = append(lines[:gitLines], "(more are not shown; run git status)")
	}
	text := "State of git when the session began; it is not updated.\nBranch: " + strings.TrimPrefix(branch, "## ") +
		"\nStatus:\n" + strings.Join(lines, "\n")
	if log != "" {
		text += "\nLatest commits:\n" + strings.TrimRight(log, "\n")
	}
	return text
}

func git(ctx context.Context, dir string, args ...string) (string, bool) {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
		"-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "safe.bareRepository=explicit", "--no-pager",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(childenv.Of(os.Getenv, []string{"XDG_CONFIG_HOME"}), "LC_ALL=C")
	cmd.WaitDelay = 100 * time.Millisecond // for processes that git leaves behind
	var out strings.Builder
	cmd.Stdout = &out
	place := sandbox.Place{Dirs: []string{dir}, Home: os.Getenv("HOME"), Getenv: os.Getenv}
	err := sandbox.Run(cmd, place.Reading())
	return out.String(), err == nil
}
