package builtin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool/tooltest"
)

const secret = "canary-secret"

// confined returns a Bash tool in a home with a secret, and with swarm's own state, of
// which its outputs are shown.
func confined(t *testing.T) (b *bashTool, home string) {
	t.Helper()
	if err := sandbox.Probe().Enforces(sandbox.Inspect); err != nil {
		t.Skip(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		".ssh/id": secret, ".swarm/journal/1": secret, ".swarm/outputs/bob/1": secret, ".swarm/outputs/ann/1": "mine", "project/file": "text", "notes": "notes",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b = newBash(Env{
		Dir: home + "/project", OutputDir: home + "/.swarm/outputs/ann", Home: home, Hidden: []string{home + "/.swarm"},
		Getenv: func(name string) string {
			if name == "HOME" {
				return home
			}
			return os.Getenv(name)
		},
	})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, home
}

// says runs a command, and returns what the model sees.
func says(t *testing.T, b *bashTool, profile, command string) string {
	t.Helper()
	c := tooltest.Call(t, b, in{"command": command})
	c.Profile = profile
	r, err := b.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r.Text
}

// TestCommandsSeeNothingHidden: neither credentials nor what swarm keeps, in the
// foreground and in the background, whatever has allowed them; their own outputs they do.
func TestCommandsSeeNothingHidden(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the comparison without a sandbox needs bash in the PATH:", err)
	}
	b, home := confined(t)
	look := `cat ~/.ssh/id ~/.swarm/journal/1 ~/.swarm/outputs/bob/1 /proc/$PPID/environ; ls -A ~/.ssh ~/.swarm; cat ~/.swarm/outputs/ann/1`
	bare := exec.Command("bash", "-c", look)
	bare.Env = []string{"HOME=" + home}
	if out, _ := bare.Output(); strings.Count(string(out), secret) != 3 {
		t.Fatalf("without a sandbox the secrets are not read: %s", out)
	}
	for _, n := range sandbox.Names() {
		if sandbox.Probe().Enforces(n) != nil {
			continue
		}
		got := says(t, b, string(n), look)
		if strings.Contains(got, secret) || !strings.Contains(got, "mine") {
			t.Errorf("under %s it says\n%s", n, got)
		}
		if got := says(t, b, string(n), "cat ~/.ssh/id"); !strings.Contains(got, "hides "+home+"/.ssh/id") {
			t.Errorf("under %s what was denied is not told:\n%s", n, got)
		}
	}
	c := tooltest.Call(t, b, in{"command": look, "run_in_background": true})
	if _, err := b.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the end of the command", func() bool { return b.List()[0].State == TaskExited })
	out, err := os.ReadFile(b.List()[0].Output)
	if err != nil || strings.Contains(string(out), secret) || !strings.Contains(string(out), "mine") {
		t.Errorf("in the background it says\n%s, %v", out, err)
	}
}

// TestReadingChangesNothing: a call that was allowed because it reads is held to that.
func TestReadingChangesNothing(t *testing.T) {
	b, home := confined(t)
	change := `echo new > file; touch made; echo x > ~/notes; mkdir -p ~/d; cat file`
	got := says(t, b, "inspect", change+"; false")
	if !strings.Contains(got, "text") || !strings.Contains(got, "profile inspect denied a change of "+home+"/project/file") {
		t.Errorf("it says\n%s", got)
	}
	for _, name := range []string{"project/made", "d"} {
		if _, err := os.Lstat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	if got := says(t, b, "inspect", `cd /usr && pwd && cat <<< "$TMPDIR" && echo x > "$TMPDIR/x" && cat "$TMPDIR/x"`); !strings.Contains(got, "\nx") {
		t.Errorf("its own temporary directory is not there: %s", got)
	}
	if got := says(t, b, "inspect", "cd sub 2>/dev/null; pwd"); !strings.Contains(got, home+"/project") {
		t.Errorf("it says %s", got)
	}
	if says(t, b, "open", change); readFile(t, home+"/project/file") != "new\n" || readFile(t, home+"/notes") != "x\n" {
		t.Error("what was allowed otherwise changes nothing either")
	}
}

// TestEditingChangesNothingElse: a call that was allowed because acceptEdits is on writes
// the working directory, but no name there that other programs obey.
func TestEditingChangesNothingElse(t *testing.T) {
	b, home := confined(t)
	if err := sandbox.Probe().Enforces(sandbox.Edit); err != nil {
		t.Skip(err)
	}
	got := says(t, b, "edit", `mkdir -p d && mv file d/ && echo new > made && cat d/file; echo x > ~/notes`)
	if !strings.Contains(got, "text") || !strings.Contains(got, "profile edit denied "+home+"/notes") {
		t.Errorf("it says\n%s", got)
	}
	if readFile(t, home+"/project/made") != "new\n" || readFile(t, home+"/notes") != "notes" {
		t.Error("the directory was not changed, or something else was")
	}
	got = says(t, b, "edit", `mkdir -p .git/hooks && echo x > .git/hooks/post-checkout`)
	if _, err := os.Lstat(home + "/project/.git"); err == nil || !strings.Contains(got, "denied a change of "+home+"/project/.git") {
		t.Errorf("it says\n%s, %v", got, err)
	}
}

// TestRulesHoldForCommands: what rules deny is neither read nor changed, however a command
// comes to it.
func TestRulesHoldForCommands(t *testing.T) {
	first, home := confined(t)
	env := first.env
	env.Denied = func() func(path string, unasked bool) (read, change bool) {
		return func(path string, unasked bool) (read, change bool) {
			return strings.HasSuffix(path, ".env") || unasked && strings.HasSuffix(path, "asked"), strings.HasSuffix(path, "fixed")
		}
	}
	b := newBash(env)
	defer b.Close()
	for name, text := range map[string]string{"d/.env": secret, "asked": secret + "-asked", "fixed": "text"} {
		if err := errors.Join(os.MkdirAll(home+"/project/d", 0o755), os.WriteFile(home+"/project/"+name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range sandbox.Names() {
		if sandbox.Probe().Enforces(n) != nil || sandbox.Probe().Enforces(sandbox.Edit) != nil {
			t.Skip("the machine cannot hide single files")
		}
		got := says(t, b, string(n), `grep -r canary . ; cat d/.env; cat asked; ln -s d/.env l; cat l; cat < d/.env; echo x > fixed; cp -r d e; cat e/.env; rm -rf e l`)
		if strings.Count(got, secret+"\n") > 0 || strings.Contains(got, secret+"-asked") != (n == sandbox.Open) {
			t.Errorf("under %s it says\n%s", n, got)
		}
		if got := says(t, b, string(n), "cat d/.env"); !strings.Contains(got, "denied "+home+"/project/d/.env, as a permission rule does") {
			t.Errorf("under %s it says\n%s", n, got)
		}
	}
	if readFile(t, home+"/project/fixed") != "text" {
		t.Error("what rules fix was changed")
	}
}

// TestLimitsAreTold: a command that reaches one says so in a line.
func TestLimitsAreTold(t *testing.T) {
	first, home := confined(t)
	if !sandbox.Probe().Launcher {
		t.Skip("the machine cannot bound commands")
	}
	env := first.env
	env.MaxFileSize, env.MaxOpenFiles = 1<<20, 40
	b := newBash(env)
	defer b.Close()
	for _, n := range sandbox.Names() {
		if sandbox.Probe().Enforces(n) != nil {
			continue
		}
		got := says(t, b, string(n), `ulimit -n; head -c 3000000 /dev/zero > "${TMPDIR:-.}/big"; x=$?; rm -f "${TMPDIR:-.}/big"; exit $x`)
		if !strings.Contains(got, "40\n") || !strings.Contains(got, "limit of 1 MiB for a file; sandbox.limits") {
			t.Errorf("under %s in %s it says\n%s", n, home, got)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestATemporaryDirectoryGoesWithItsTools.
func TestATemporaryDirectoryGoesWithItsTools(t *testing.T) {
	b, _ := confined(t)
	dir := strings.TrimSpace(says(t, b, "inspect", `echo "$TMPDIR"`))
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
}

// TestProgramsWorkWhenAllowed runs what people work with under the profile that most
// commands have, with caches and settings in the home, new and old.
func TestProgramsWorkWhenAllowed(t *testing.T) {
	b, home := confined(t)
	programs := map[string]string{
		"git": `git init -q r && cd r && git config --global user.email a@b && git config --global user.name ann && echo x > f && git add f &&
			git commit -qm one && git log --oneline && cat ~/.gitconfig && cd ..`,
		"go": `mkdir -p m && cd m && printf 'module m\n\ngo 1.21\n' > go.mod && printf 'package main\n\nfunc main() { println("built") }\n' > main.go &&
			GOCACHE=` + cacheOf(t) + ` go build -o ~/bin-of-mine . && ~/bin-of-mine && cd ..`,
		"gcc":     `printf 'int main(void){return 0;}\n' > a.c && gcc -o a a.c && ./a`,
		"npm":     `mkdir -p n && cd n && npm init -y >/dev/null && npm config set fund false && npm install --offline --silent && npm cache verify && ls ~/.npm && cd ..`,
		"python3": `mkdir -p ~/.cache/x && python3 -c 'import os; os.makedirs(os.path.expanduser("~/new/dir")); print(open("file").read())'`,
		"bash":    `mkdir ~/fresh && echo y > ~/fresh/f && cat ~/fresh/f && sleep 60 & kill $! && wait; true`,
		"tmux":    `export TMUX_TMPDIR=$PWD && tmux -f /dev/null new-session -d 'sleep 60' && tmux list-sessions`,
	}
	for name, script := range programs {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command(name, "--version").CombinedOutput(); err != nil && name != "tmux" && name != "go" {
				t.Skipf("%s does not run here: %s", name, out)
			}
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(err)
			}
			if got := says(t, b, "open", "set -e; "+script); strings.Contains(got, "Exit code") {
				t.Errorf("in %s it says\n%s", home, got)
			}
		})
	}
}

// cacheOf is the cache of the Go command here: to fill another takes half a minute.
func cacheOf(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Skip(err)
	}
	return strings.TrimSpace(string(out))
}

// TestAProcessThatShedsEverythingEnds: it leaves its session and parent, clears its
// environment and closes every descriptor.
func TestAProcessThatShedsEverythingEnds(t *testing.T) {
	needs(t, "setsid")
	b, home := confined(t)
	if !sandbox.Probe().Scopes {
		t.Skip("the kernel keeps no scopes")
	}
	got := says(t, b, "open", `(setsid env -i /bin/bash --norc -c 'for f in $(seq 3 30); do eval "exec $f>&-"; done; trap "" TERM HUP
		echo $$ > '"$HOME"'/pid; exec >/dev/null 2>&1; while :; do sleep 600; done' &); while ! [ -s ~/pid ]; do sleep 0.02; done`)
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, home+"/pid")))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "were ended: 2") {
		t.Errorf("it says\n%s", got)
	}
	waitUntil(t, "its end", func() bool { _, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid)); return err != nil || zombie(pid) })
}

func zombie(pid int) bool {
	_, err := startTime(pid)
	return err != nil
}
