package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/trust"
	"golang.org/x/sys/unix"
)

// checkPrograms checks the programs that tools run.
func (a *checker) checkPrograms(ctx context.Context, _ string) []finding {
	return []finding{
		program(ctx, fail, "bash", "the Bash tool cannot run; install bash"),
		program(ctx, warn, "git", "agents cannot use it and the demo needs a repository; install git"),
		program(ctx, warn, "rg", "Grep falls back to a slower search; install ripgrep"),
	}
}

func program(ctx context.Context, without grade, name, consequence string) finding {
	path, err := exec.LookPath(name)
	if err != nil {
		return findingf(without, name, "not found: %s", consequence)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return findingf(without, name, "%s does not run: %v", path, err)
	}
	return findingf(ok, name, "%s (%s)", path, view.FirstLine(string(out)))
}

// checkSandbox reports how the kernel can confine the commands of agents.
func (a *checker) checkSandbox(_ context.Context, dir string) []finding {
	m := sandbox.Probe()
	written := a.sandboxSettings(dir, m)
	if err := m.Enforces(sandbox.Inspect); err != nil {
		return append(written, findingf(warn, "sandbox", "%v; only commands without variables and patterns run unasked, and rules that deny Read find only the files that a command names, not what it finds in a directory (cp -r, tar, grep -r)", err))
	}
	found := []finding{findingf(ok, "sandbox", "%s", m), findingf(ok, "sandbox", "the totals of a command are %s", m.Totalled())}
	if err := m.Enforces(sandbox.Edit); err != nil {
		found = append(found, findingf(warn, "sandbox", "commands that change files are asked about in mode acceptEdits too, as the profile edit cannot be enforced"))
	}
	for _, missing := range m.Missing {
		found = append(found, findingf(warn, "sandbox", "%s", missing))
	}
	return append(found, written...)
}

// sandboxSettings reports what of the settings is in force for a directory.
func (a *checker) sandboxSettings(dir string, m sandbox.Machine) (found []finding) {
	sources, err := swarm.Options{Dir: dir, Getenv: a.Getenv}.Sources()
	if err != nil {
		return nil // the check of definitions reports it
	}
	s, err := settings.ReadSandbox(sources)
	if err != nil {
		found = append(found, findingf(fail, "sandbox", "%v", err))
	}
	for _, line := range s.Lines(m) {
		found = append(found, findingf(ok, "sandbox", "%s", line))
	}
	for _, note := range s.Notes {
		found = append(found, findingf(warn, "sandbox", "%s", note))
	}
	return found
}

// checkSettings reports what is wrong with the rules and hooks of the settings files, and
// what of them is not in force.
func (a *checker) checkSettings(_ context.Context, dir string) (found []finding) {
	sources, err := swarm.Options{Dir: dir, Getenv: a.Getenv}.Sources()
	if err != nil {
		return nil // the check of definitions reports it
	}
	state, err := a.Sessions().StateDir()
	if err != nil {
		return nil // the check of the state reports it
	}
	trusts := trust.Open(state).State
	files, err := settings.Follow(sources, state, trusts)
	if err != nil {
		return []finding{findingf(fail, "settings", "%v", err)}
	}
	rules, err := node.NewRules(node.RulesOptions{Files: files})
	if err != nil {
		return []finding{findingf(fail, "settings", "%v", err)}
	}
	for _, note := range rules.Notes() {
		found = append(found, findingf(warn, "settings", "%s", note))
	}
	for _, line := range rules.Settings().Unused {
		found = append(found, findingf(ok, "settings", "%s", line))
	}
	_, problems := settings.Hooks(sources, trusts)
	for _, p := range problems {
		found = append(found, findingf(warn, "hooks", "%v", p))
	}
	return found
}

// The limits of free space, in bytes, for a warning and a failure.
const (
	lowSpace = 1 << 30
	noSpace  = 64 << 20
)

// checkState tries the operations of a session in its directory: write, sync, lock.
func (a *checker) checkState(context.Context, string) []finding {
	dir, err := a.Sessions().StateDir()
	if err != nil {
		return []finding{findingf(fail, "state", "%v", err)}
	}
	if err := tryState(dir); err != nil {
		return []finding{findingf(fail, "state", "%s cannot be used; make it writable or set SWARM_HOME to another: %v", dir, err)}
	}
	free, err := freeSpace(dir)
	switch {
	case err != nil:
		return []finding{findingf(warn, "state", "%s can be written; its free space is not known: %v", dir, err)}
	case free < noSpace:
		return []finding{findingf(fail, "state", "%s has %d MiB left; make room or set SWARM_HOME to another", dir, free>>20)}
	case free < lowSpace:
		return []finding{findingf(warn, "state", "%s can be written and locked; only %d MiB are left", dir, free>>20)}
	}
	return []finding{findingf(ok, "state", "%s can be written and locked; %d GiB are free", dir, free>>30)}
}

func tryState(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "doctor-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString("x"); err != nil {
		return err
	}
	return errors.Join(f.Sync(), tryLock(f))
}

// tryLock checks that a lock excludes a second owner: some network file systems do not
// support that although they claim to.
func tryLock(f *os.File) (err error) {
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock a file: %w", err)
	}
	second, err := os.Open(f.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, second.Close()) }()
	if unix.Flock(int(second.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return errors.New("the file system gives one lock to two owners; use a local disk")
	}
	return nil
}

func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// checkModel names the credentials that would be used, without their values.
func (a *checker) checkModel(context.Context, string) []finding {
	for _, p := range []struct{ key, base, what string }{
		{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "Claude"},
		{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "Claude"},
		{"OPENAI_BASE_URL", "OPENAI_BASE_URL", "an OpenAI-compatible endpoint"},
		{"OPENAI_API_KEY", "OPENAI_BASE_URL", "an OpenAI-compatible endpoint"},
	} {
		if a.Getenv(p.key) == "" {
			continue
		}
		where, err := endpoint(a.Getenv(p.base))
		if err != nil {
			return []finding{findingf(fail, "model", "%s is not an address; correct it", p.base)}
		}
		return []finding{findingf(ok, "model", "%s by %s%s", p.what, p.key, where)}
	}
	return []finding{findingf(warn, "model", "%v", swarm.NoModelError{})}
}

// endpoint returns the host of an address; the rest may contain a password.
func endpoint(base string) (string, error) {
	if base == "" {
		return "", nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "", errors.New("no host")
	}
	return " at " + u.Host, nil
}

func (a *checker) checkDefinitions(_ context.Context, dir string) []finding {
	sources, err := swarm.Options{Dir: dir, Getenv: a.Getenv}.Sources()
	if err != nil {
		return []finding{findingf(fail, "agents", "%v", err)}
	}
	set, err := defs.Load(sources)
	if err != nil {
		return []finding{findingf(fail, "agents", "%v", err)}
	}
	var names []string
	for _, d := range set.Active {
		names = append(names, d.Name)
	}
	found := []finding{findingf(ok, "agents", "%s", strings.Join(names, ", "))}
	for _, p := range set.Problems {
		g := warn
		if p.Fatal || p.Unusable {
			g = fail
		}
		found = append(found, finding{g, "agents", p.String()})
	}
	return found
}
