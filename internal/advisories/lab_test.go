// Package advisories holds the program to weaknesses that were published for programs
// of its kind: each test tries one of them on the swarm binary, with something that would
// be written, read or reached if it worked. docs/security.md has the table; what a
// row promises is the law that its test holds.
package advisories

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// patience bounds what a test waits for. It guards against a test that hangs, and
// is no measure of speed.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	code := m.Run()
	if dir := built.dir; dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// built is the program under test.
var built struct {
	once     sync.Once
	dir, exe string
	err      error
}

// program returns the path of swarm, which the first test that asks links. go run keeps
// the program in the build cache, unlike go build.
func program(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "advisories-*")
		if built.err != nil {
			return
		}
		built.exe = filepath.Join(built.dir, "swarm")
		out, err := exec.Command("go", "run", "-exec", "cp", "../../cmd/swarm", built.exe).CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("swarm cannot be built: %v", built.err)
	}
	return built.exe
}

// lab is a directory with a project and the home of a user.
type lab struct {
	*testing.T
	top  string // holds all else, its links followed
	dir  string // top/project, where swarm runs
	home string // top/home
	env  []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	short, err := os.MkdirTemp("", "adv-*") // a socket below has a path of 103 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(short); err != nil {
			t.Error(err)
		}
	})
	top, err := filepath.EvalSymlinks(short)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, top: top, dir: filepath.Join(top, "project"), home: filepath.Join(top, "home")}
	for _, dir := range []string{l.dir, l.home, filepath.Join(top, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "SWARM_HOME=" + filepath.Join(l.home, ".swarm"), "TMPDIR=" + filepath.Join(top, "tmp"),
		"TERM=dumb", "LC_ALL=C.UTF-8", "SWARM_MANAGED_DIR=" + filepath.Join(top, "managed"), "GIT_CONFIG_NOSYSTEM=1",
	}
	return l
}

// path returns the path of a file of the lab, by its name below the top.
func (l *lab) path(name string) string { return filepath.Join(l.top, filepath.FromSlash(name)) }

// write makes a file with the directories above it.
func (l *lab) write(name, text string) {
	l.Helper()
	path := l.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		l.Fatal(err)
	}
}

// executable makes a program of sh.
func (l *lab) executable(name, script string) {
	l.Helper()
	l.write(name, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(l.path(name), 0o755); err != nil {
		l.Fatal(err)
	}
}

// link makes a symbolic link with the directories above it.
func (l *lab) link(target, name string) {
	l.Helper()
	path := l.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
		l.Fatal(err)
	}
}

// read returns the text of a file.
func (l *lab) read(name string) string {
	l.Helper()
	raw, err := os.ReadFile(l.path(name))
	if err != nil {
		l.Fatal(err)
	}
	return string(raw)
}

// absent fails the test if there is something at a path.
func (l *lab) absent(name string) {
	l.Helper()
	if _, err := os.Lstat(l.path(name)); !errors.Is(err, fs.ErrNotExist) {
		l.Errorf("%s was made (%v)", name, err)
	}
}

// present fails the test if there is nothing at a path.
func (l *lab) present(name string) {
	l.Helper()
	if _, err := os.Lstat(l.path(name)); err != nil {
		l.Errorf("%s was not made: %v", name, err)
	}
}

// git runs git in the project.
func (l *lab) git(args ...string) {
	l.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir, cmd.Env = l.dir, l.env
	if out, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// ended is what a process has left.
type ended struct {
	out, err string
	code     int
}

// command returns swarm with arguments, in the project.
func (l *lab) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program(l.T), args...)
	cmd.Dir, cmd.Env = l.dir, slices.Clip(l.env)
	return cmd
}

// swarm runs swarm to its end.
func (l *lab) swarm(args ...string) ended {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	cmd := l.command(ctx, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		l.Fatalf("swarm %q: %v: %s", args, err, errOut.String())
	}
	return ended{out.String(), errOut.String(), cmd.ProcessState.ExitCode()}
}

// call is a tool call that the scripted model makes.
type call struct {
	Tool  string         `json:"tool"`
	As    string         `json:"as"`
	Input map[string]any `json:"input"`
}

func bash(command string) call { return call{Tool: "Bash", Input: map[string]any{"command": command}} }

// file is a call of a tool that takes the path of a file.
func file(tool, path string) call {
	in := map[string]any{"file_path": path}
	switch tool {
	case "Write":
		in["content"] = "written"
	case "Edit":
		in["old_string"], in["new_string"] = "canary", "edited"
	case "Grep":
		in = map[string]any{"pattern": "canary", "path": path, "output_mode": "content"}
	case "Glob":
		in = map[string]any{"pattern": "*", "path": path}
	}
	return call{Tool: tool, Input: in}
}

// outcome is what a call came to.
type outcome struct {
	denied bool   // by a rule or for want of one
	text   string // the result
}

// child runs a session in which an agent of a type makes the calls, and returns what they
// came to.
func (l *lab) child(agent string, calls []call, args ...string) []outcome {
	l.Helper()
	start := call{Tool: "Agent", Input: map[string]any{"subagent_type": agent, "description": "d", "prompt": "p"}}
	return l.run(l.play(rule{agent: "lead", calls: []call{start}}, rule{agent: agent, calls: calls}), len(calls), append(args, "--forward-subagent-text")...)
}

// session runs a session whose lead makes the calls, and returns what they came to.
func (l *lab) session(calls []call, args ...string) []outcome {
	l.Helper()
	return l.run(l.script(calls), len(calls), args...)
}

// run runs a session by a script and returns what its numbered calls came to.
func (l *lab) run(script string, n int, args ...string) []outcome {
	l.Helper()
	end := l.swarm(slices.Concat([]string{"run", "--model", script, "--output-format", "stream-json", "--verbose"}, args, []string{"go"})...)
	return l.outcomes(end, n)
}

// script writes a script in which the lead makes all calls in its first answer.
func (l *lab) script(calls []call) string {
	l.Helper()
	return l.play(rule{agent: "lead", calls: calls})
}

// rule is what an agent does in its first answer.
type rule struct {
	agent string
	calls []call
}

// play writes a script of rules. The calls of the last one are numbered.
func (l *lab) play(rules ...rule) string {
	l.Helper()
	var all []any
	for i, r := range rules {
		for n := range r.calls {
			r.calls[n].Input = literal(r.calls[n].Input)
			if r.calls[n].As = fmt.Sprintf("r-%d-%d", i, n); i == len(rules)-1 {
				r.calls[n].As = fmt.Sprintf("c-%d", n)
			}
		}
		if len(r.calls) > 0 {
			all = append(all, map[string]any{"when": map[string]any{"agent": r.agent, "step": 0}, "say": map[string]any{"calls": r.calls}})
		}
	}
	raw, err := json.Marshal(map[string]any{"rules": append(all, map[string]any{"say": map[string]any{"text": "done"}})})
	if err != nil {
		l.Fatal(err)
	}
	path := l.path("script.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		l.Fatal(err)
	}
	return "script:" + path
}

// literal keeps the template language of scripts from reading braces.
func literal(in map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "{{", `{{"{{"}}`)
		}
		out[k] = v
	}
	return out
}

// outcomes reads what n calls came to from the stream of a run.
func (l *lab) outcomes(end ended, n int) []outcome {
	l.Helper()
	all, seen := make([]outcome, n), 0
	for line := range strings.Lines(end.out) {
		var m struct {
			Type, Subtype string
			ID            string `json:"tool_use_id"`
			Message       json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			l.Fatalf("%v in %s", err, line)
		}
		if m.Subtype == "permission_denied" {
			if i, ok := index(m.ID, n); ok {
				all[i].denied = true
			}
		}
		if m.Type != "user" {
			continue
		}
		var message struct {
			Content []struct {
				ID      string `json:"tool_use_id"`
				Content any
			}
		}
		if err := json.Unmarshal(m.Message, &message); err != nil {
			continue // a text
		}
		for _, c := range message.Content {
			if i, ok := index(c.ID, n); ok {
				all[i].text = fmt.Sprint(c.Content)
				seen++
			}
		}
	}
	if seen != n {
		l.Fatalf("%d of %d calls have a result; exit %d: %s\n%s", seen, n, end.code, end.err, end.out)
	}
	return all
}

// index returns the number of a call by its id.
func index(id string, n int) (int, bool) {
	_, name, _ := strings.Cut(id, "_c-")
	var i int
	_, err := fmt.Sscanf(name, "%d", &i)
	return i, err == nil && i < n
}

// confined skips the test where the kernel cannot hold commands to profiles.
func confined(t *testing.T) {
	t.Helper()
	for _, name := range sandbox.Names() {
		if err := sandbox.Probe().Enforces(name); err != nil {
			t.Skipf("commands cannot be confined here: %v", err)
		}
	}
}

// olderThan compares versions such as v1.2.3 by their numbers.
func olderThan(version, than string) bool {
	a, b := numbers(version), numbers(than)
	return slices.Compare(a, b) < 0
}

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		n, _ := strconv.Atoi(part) // what follows a - counts as 0: an earlier version
		all = append(all, n)
	}
	return all
}
